/**
 * The state in several databases. A partition's number modulo their number decides which has it.
 * Nothing is in two of them, so they need no agreement.
 */
import {
  LaneTurns,
  type OwnedPartition,
  type RowLane,
  type SealedBatch,
  type State,
} from "./state.js";

export class SpreadState implements State {
  readonly #turns = new LaneTurns();
  /** By lane: the database that is asked first for a batch. */
  readonly #next = new Map<RowLane, number>();

  /** @param states in the order of the setting; without any, no partition can be taken */
  constructor(private readonly states: readonly State[]) {}

  take(partition: number): Promise<OwnedPartition> {
    return this.#of(partition).take(partition);
  }

  /** A batch that is not removed is given again; after it the next database has its turn. */
  seal(lane: RowLane, bytesMax: number): Promise<SealedBatch | null> {
    return this.#turns.take(lane, async () => {
      const first = this.#next.get(lane) ?? 0;
      for (let turn = 0; turn < this.states.length; turn += 1) {
        const place = (first + turn) % this.states.length;
        const batch = (await this.states[place]?.seal(lane, bytesMax)) ?? null;
        if (batch === null) continue;
        this.#next.set(lane, place);
        return batch;
      }
      return null;
    });
  }

  /** The token does not say where it was sealed; elsewhere it removes nothing. */
  remove(batch: Pick<SealedBatch, "lane" | "token">): Promise<void> {
    return this.#turns.take(batch.lane, async () => {
      const place = this.#next.get(batch.lane) ?? 0;
      await Promise.all(this.states.map((state) => state.remove(batch)));
      this.#next.set(batch.lane, (place + 1) % this.states.length);
    });
  }

  async queuedBytes(): Promise<number> {
    const bytes = await Promise.all(this.states.map((state) => state.queuedBytes()));
    return bytes.reduce((sum, some) => sum + some, 0);
  }

  values(partition: number): AsyncIterable<readonly [key: string, value: Buffer]> {
    return this.#of(partition).values(partition);
  }

  async clear(): Promise<void> {
    for (const state of this.states) await state.clear();
  }

  async close(): Promise<void> {
    for (const state of this.states) await state.close();
  }

  #of(partition: number): State {
    const state = this.states[partition % this.states.length];
    if (state === undefined) throw new Error("the state is not opened here");
    return state;
  }
}
