/**
 * How many bytes of batches are taken at a time: each is in memory until it is answered. One
 * workspace has half of the room at most, so that its slow uploads leave others theirs.
 */
import { unavailable } from "../http/errors.js";
import { Room } from "../http/in-flight-quota.js";
import { limits } from "../config.js";

export class BatchRoom {
  readonly #room = new Room(
    { all: limits.batchesBytesMax, perWorkspace: limits.batchesPerWorkspaceBytesMax },
    (isOwn) => {
      const which = isOwn ? "Your other" : "Other";
      return unavailable("batches_busy", `${which} batches are on their way; call again.`);
    },
  );

  /**
   * Before the body is read, for what its header announces; for all a batch may have where it
   * announces nothing.
   * @returns the release
   * @throws ApiError 503 while others fill the room
   */
  enter(workspace: string, contentLength: string | undefined): () => void {
    const announced = Number(contentLength ?? limits.batchBytesMax);
    return this.#room.enter(workspace, Math.min(announced, limits.batchBytesMax));
  }
}
