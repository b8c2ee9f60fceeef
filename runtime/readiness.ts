/** The checks of `/readyz`, registered by name: what has to work for this process to be of use. */
import { answered } from "./deadline.js";

const checkMsMax = 2_000;

/** Its message is shown to anybody who asks: it names neither a server nor a customer. */
export class NotReady extends Error {
  override readonly name = "NotReady";
}

export class Readiness {
  readonly #checks = new Map<string, () => Promise<unknown> | void>();
  #asking: Promise<string[]> | undefined;

  /** @param check throws or rejects while the thing does not work; a slow answer counts as none */
  add(name: string, check: () => Promise<unknown> | void): void {
    this.#checks.set(name, check);
  }

  /**
   * What does not work now, by name, with the reason where it may be shown. Anybody may ask, so
   * simultaneous callers share one answer.
   */
  failing(): Promise<string[]> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<string[]> {
    const names = await Promise.all(
      Array.from(this.#checks, ([name, check]) => {
        const working = Promise.resolve().then(check);
        return answered(name, working, checkMsMax).then(
          () => [],
          (error: unknown) => [error instanceof NotReady ? `${name} (${error.message})` : name],
        );
      }),
    );
    return names.flat();
  }
}
