/**
 * At most so many messages a second. What is left out is counted in the next message, and the last
 * one is never left out: a reader always ends with the newest, and with a cursor from which nothing
 * is missing.
 */
export class Sample {
  #sent = 0;
  #skipped = 0;
  #latest: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly perSecond: number,
    private readonly send: (text: string) => void,
  ) {}

  take(text: string): void {
    this.#timer ??= setTimeout(() => this.#turn(), 1_000).unref();
    if (this.#sent < this.perSecond) return this.#emit(text);
    if (this.#latest !== null) this.#skipped += 1;
    this.#latest = text;
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#latest = null;
  }

  #turn(): void {
    this.#timer = null;
    this.#sent = 0;
    const latest = this.#latest;
    this.#latest = null;
    if (latest === null) return;
    this.#timer = setTimeout(() => this.#turn(), 1_000).unref();
    this.#emit(latest);
  }

  /** @param text a JSON object, written once for all readers */
  #emit(text: string): void {
    this.#sent += 1;
    this.send(`${text.slice(0, -1)},"skipped":${this.#skipped}}`);
    this.#skipped = 0;
  }
}
