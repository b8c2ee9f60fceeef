/** How many bytes of batches are taken at a time: each is in memory until it is answered. */
import { unavailable } from "../backends/http/errors.js";
import { limits } from "../config.js";

export class BatchRoom {
  #bytes = 0;

  /**
   * Before the body is read, for what its header announces; for all a batch may have where it
   * announces nothing.
   * @returns the release
   * @throws ApiError 503 while others fill the room
   */
  enter(contentLength: string | undefined): () => void {
    const bytes = Math.min(Number(contentLength ?? limits.batchBytesMax), limits.batchBytesMax);
    if (this.#bytes + bytes > limits.batchesBytesMax) {
      throw unavailable("batches_busy", "Other batches are on their way; call again.");
    }
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
    };
  }
}
