/**
 * A quota of what is under way, by workspace, counted or weighed, so that nobody blocks the others.
 */
import type { ApiError } from "../schemas/http/errors.js";

export class Room {
  readonly #taken = new Map<string, number>();

  constructor(
    private readonly max: { readonly all: number; readonly perWorkspace: number },
    /** @param isOwn the workspace's own work fills its quota */
    private readonly refusal: (isOwn: boolean) => ApiError,
  ) {}

  /**
   * @returns what gives it back, once.
   * @throws ApiError when there is none
   */
  enter(workspace: string, size: number): () => void {
    const own = this.#taken.get(workspace) ?? 0;
    const all = [...this.#taken.values()].reduce((sum, taken) => sum + taken, 0);
    if (own + size > this.max.perWorkspace) throw this.refusal(true);
    if (all + size > this.max.all) throw this.refusal(false);
    this.#taken.set(workspace, own + size);
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      const left = (this.#taken.get(workspace) ?? size) - size;
      if (left === 0) this.#taken.delete(workspace);
      else this.#taken.set(workspace, left);
    };
  }
}
