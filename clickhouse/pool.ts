/** Connections that run one statement at a time, handed out in the order they were asked for. */
import { StoreBusy } from "./clickhouse.js";

export class Pool<Connection> {
  readonly #idle: Connection[];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(
    connections: readonly Connection[],
    private readonly waitingMax: number,
  ) {
    this.#idle = [...connections];
  }

  /** @throws StoreBusy when `waitingMax` others wait already. */
  async run<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.#idle.pop() ?? (await this.#wait());
    try {
      return await use(connection);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(connection);
      else this.#idle.push(connection);
    }
  }

  #wait(): Promise<Connection> {
    if (this.#waiting.length >= this.waitingMax) throw new StoreBusy();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
