/**
 * How many bytes of batches are taken at a time: each is in memory until it is answered. One
 * workspace has half of the room at most, so that its slow uploads leave others theirs.
 */
import { unavailable } from "../backends/http/errors.js";
import { limits } from "../config.js";

export class BatchRoom {
  #bytes = 0;
  readonly #ofWorkspace = new Map<string, number>();

  /**
   * Before the body is read, for what its header announces; for all a batch may have where it
   * announces nothing.
   * @returns the release
   * @throws ApiError 503 while others fill the room
   */
  enter(workspace: string, contentLength: string | undefined): () => void {
    const bytes = Math.min(Number(contentLength ?? limits.batchBytesMax), limits.batchBytesMax);
    const own = this.#ofWorkspace.get(workspace) ?? 0;
    if (own + bytes > limits.batchesPerWorkspaceBytesMax) {
      throw unavailable("batches_busy", "Your other batches are on their way; call again.");
    }
    if (this.#bytes + bytes > limits.batchesBytesMax) {
      throw unavailable("batches_busy", "Other batches are on their way; call again.");
    }
    this.#add(workspace, bytes);
    return () => {
      this.#add(workspace, -bytes);
    };
  }

  #add(workspace: string, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#ofWorkspace.get(workspace) ?? 0) + bytes;
    if (own > 0) this.#ofWorkspace.set(workspace, own);
    else this.#ofWorkspace.delete(workspace);
  }
}
