/** How far something is: a bar on a terminal, otherwise a line now and then. */
import type { WriteStream } from "node:tty";

const barColumns = 30;
const redrawMs = 100;
const linePercent = 10;

export class Progress {
  readonly #startedAt = performance.now();
  #drawnAt = 0;
  #percentSaid = 0;

  constructor(
    readonly out: WriteStream,
    readonly label: string,
    readonly total: number,
  ) {}

  update(done: number): void {
    const percent = Math.min(100, Math.floor((done / this.total) * 100));
    if (this.out.isTTY) {
      const now = performance.now();
      if (now - this.#drawnAt < redrawMs && done < this.total) return;
      this.#drawnAt = now;
      const filled = Math.round((percent / 100) * barColumns);
      const bar = "█".repeat(filled) + "░".repeat(barColumns - filled);
      overwrite(this.out, `${this.label} ${bar} ${percent} %`);
    } else if (percent >= this.#percentSaid + linePercent) {
      this.#percentSaid = percent - (percent % linePercent);
      this.out.write(`${this.label} ${this.#percentSaid} %\n`);
    }
  }

  /** @param said what stands there when it is done */
  end(said: string): void {
    if (this.out.isTTY) overwrite(this.out, `${this.label} ${said}\n`);
    else this.out.write(`${this.label} ${said}\n`);
  }

  get seconds(): number {
    return Math.max(1, Math.round((performance.now() - this.#startedAt) / 1000));
  }
}

/** Says that something is under way, and for how long, until it has come to an end. */
export async function whileWaiting<T>(
  out: WriteStream,
  label: string,
  awaited: Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAt) / 1000);
  const say = (): void => {
    if (out.isTTY) overwrite(out, `${label} … ${seconds()} s`);
    else out.write(`${label} … ${seconds()} s\n`);
  };
  if (out.isTTY) say();
  else out.write(`${label}\n`);
  const timer = setInterval(say, out.isTTY ? 1_000 : waitingLineMs);
  try {
    return await awaited;
  } finally {
    clearInterval(timer);
    if (out.isTTY) out.write("\n");
  }
}

const waitingLineMs = 10_000;

/** Replaces the line the cursor is on. */
export function overwrite(out: WriteStream, text: string): void {
  out.cursorTo(0);
  out.clearLine(0);
  out.write(text);
}
