/**
 * How many bytes are queued where other processes share the outbox: asked of the server now and
 * then, and updated by what this process queues and removes itself. Never less than what is queued,
 * as far as this process knows.
 */
/** How late it notices what others removed or took over. */
const askedEveryMs = 1_000;

export interface ByteChange {
  readonly queuedBytes: number;
  readonly removedBytes: number;
}

interface Count {
  readonly atMs: number;
  readonly asked: Promise<number>;
  isAnswered: boolean;
  changeBytes: number;
}

export class QueuedBytes {
  #count: Count | null = null;

  constructor(private readonly ask: () => Promise<number>) {}

  async now(): Promise<number> {
    const count = this.#fresh() ?? this.#begin();
    return (await count.asked) + count.changeBytes;
  }

  /** The next caller asks the server. */
  forget(): void {
    this.#count = null;
  }

  /** Adds what the work changes once it has succeeded; after a failure the count is unknown. */
  async during<T extends ByteChange>(work: () => Promise<T>): Promise<T> {
    const before = this.#count?.isAnswered === true ? this.#count : null;
    try {
      const change = await work();
      const count = this.#count;
      if (count !== null) {
        count.changeBytes += change.queuedBytes;
        // The answer may have included work that was under way.
        if (count === before) count.changeBytes -= change.removedBytes;
      }
      return change;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  #fresh(): Count | null {
    const count = this.#count;
    const isOld = count?.isAnswered === true && performance.now() - count.atMs > askedEveryMs;
    return isOld ? null : count;
  }

  #begin(): Count {
    const asked = this.ask();
    const count: Count = { atMs: performance.now(), asked, isAnswered: false, changeBytes: 0 };
    this.#count = count;
    asked.then(
      () => (count.isAnswered = true),
      () => this.#count === count && this.forget(),
    );
    return count;
  }
}
