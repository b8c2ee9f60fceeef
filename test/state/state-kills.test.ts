/** What was acknowledged is there after a `kill -9` at any point, and nothing is there by half. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { Chance } from "../../ops/demo/chance.js";
import { PostgresState } from "../../stores/state/postgres-state.js";
import { type RowLane, rowLanes, type SealedBatch, type State } from "../../stores/state/state.js";
import { Releases } from "../../runtime/releases.js";
import { lmdbTopics } from "../log/log-topics.js";
import { linesUntilFull, linesUntilKilled } from "../log/reporting-process.js";
import { testLogger } from "../harness/stores.js";
import {
  labelOf,
  nextIn,
  partitions,
  type Step,
  unpublishedAt,
  valuesAt,
} from "./killed-rounds.js";
import { openOwnPostgres } from "./own-postgres.js";

const kills = 12;
const stepsMax = 250;
const seed = "state-kills";

interface Killed {
  /** What the worker is started with. */
  readonly where: string;
  open(): Promise<{ readonly state: State; close(): Promise<void> }>;
}

describe("The state of a process that is killed", function () {
  this.timeout(120_000);
  const releases = new Releases(testLogger);
  after(() => releases.release());

  it("should have all that was acknowledged, and nothing by half, on LMDB", async () => {
    const path = await mkdtemp(join(tmpdir(), "state-"));
    releases.push("folder", () => rm(path, { recursive: true }));
    const open = async () => openLmdbLog({ path, topics: lmdbTopics(), logger: testLogger });
    await killAgainAndAgain({ where: path, open });
  });

  it("should have it, too, when a full disk refused the rest", async () => {
    const path = await mkdtemp(join(tmpdir(), "state-"));
    releases.push("folder", () => rm(path, { recursive: true }));
    const lines = await linesUntilFull("state/state-worker", [path, seed]);
    const steps = lines.map((line): Step => JSON.parse(line));
    const failed = steps.pop();
    const seen = new Seen();
    for (const step of steps) seen.take(step);
    expect(seen.offsets.every((offset) => offset > 1)).to.equal(true);
    const log = openLmdbLog({ path, topics: lmdbTopics(), logger: testLogger });
    try {
      await seen.compare(log.state);
      const queuedBytes = await log.state.queuedBytes();
      expect(failed).to.eql({ did: "failed", error: "LogUnavailable", queuedBytes });
      await seen.empty(log.state);
    } finally {
      await log.close();
    }
  });

  it("should have all that was acknowledged, and nothing by half, on Postgres", async function () {
    const { postgres, url } = await openOwnPostgres(this, releases);
    const open = async () => ({ state: new PostgresState(postgres), close: async () => undefined });
    await killAgainAndAgain({ where: url, open });
  });
});

async function killAgainAndAgain(killed: Killed): Promise<void> {
  const chance = new Chance(seed);
  const seen = new Seen();
  for (let kill = 1; kill <= kills; kill += 1) {
    const words = [killed.where, `${seed} ${kill}`];
    const lines = await linesUntilKilled("state/state-worker", words, chance.whole(1, stepsMax));
    for (const line of lines) seen.take(JSON.parse(line));
    const opened = await killed.open();
    await seen.compare(opened.state);
    if (kill === kills) await seen.empty(opened.state);
    await opened.close();
  }
  expect(seen.offsets.every((offset) => offset > kills)).to.equal(true);
}

type Sealed = Omit<Extract<Step, { did: "sealed" }>, "did">;

interface Open {
  readonly token: string;
  readonly entries: readonly string[];
  /** From when on it may be gone. */
  isLeaving: boolean;
}

/** What has to be there, by what was reported. */
class Seen {
  readonly offsets = partitions.map(() => 0);
  /** By lane and partition the offset of the entry that no batch has had. */
  readonly #next = new Map(rowLanes.map((lane) => [lane, partitions.map(() => nextIn(lane, 1))]));
  readonly #open = new Map<RowLane, Open>();
  readonly #tokens = new Set<string>();
  /** Lanes that the process at work has taken a batch of. */
  readonly #begun = new Set<RowLane>();

  take(step: Step): void {
    if (step.did === "taken") this.#begun.clear();
    if (step.did === "committed") this.offsets[step.partition] = step.offset;
    if (step.did === "sealed") this.#sealed(step);
    const open = "lane" in step ? this.#open.get(step.lane) : undefined;
    if (step.did === "removing" && open !== undefined) open.isLeaving = true;
    if (step.did === "removed") this.#open.delete(step.lane);
  }

  /** As its next process finds it. */
  async compare(state: State): Promise<void> {
    this.#begun.clear();
    for (const partition of partitions) {
      const acknowledged = this.offsets[partition] ?? 0;
      const owned = await state.take(partition);
      const offset = Number(owned.offset);
      // One more may have been under way.
      expect(offset).to.be.within(acknowledged, acknowledged + 1);
      this.offsets[partition] = offset;
      expect(owned.sequence).to.equal(owned.offset);
      const messages = await owned.unpublished();
      expect(messages.map(labelOf)).to.eql(unpublishedAt(partition, offset));
      const expected = valuesAt(partition, offset);
      const read = await owned.read([...expected.keys()]);
      expect(new Map([...read].map(([key, value]) => [key, value.toString()]))).to.eql(expected);
      const keys: string[] = [];
      for await (const [key] of state.values(partition)) keys.push(key);
      expect(keys).to.eql([...expected.keys()].toSorted((one, other) => (one < other ? -1 : 1)));
    }
    for (const lane of rowLanes) await this.#nextBatch(state, lane);
  }

  /** Until nothing is queued, all of which has to be what was committed. */
  async empty(state: State): Promise<void> {
    for (const partition of partitions) {
      const owned = await state.take(partition);
      const { offset, sequence } = owned;
      await owned.commit({ offset, values: new Map(), queued: {}, published: sequence });
      expect(await owned.unpublished()).to.eql([]);
    }
    for (const lane of rowLanes) {
      for (;;) {
        const batch = await this.#nextBatch(state, lane);
        if (batch === null) break;
        await state.remove(batch);
        this.#open.delete(lane);
      }
    }
    expect(await state.queuedBytes()).to.equal(0);
  }

  async #nextBatch(state: State, lane: RowLane): Promise<SealedBatch | null> {
    const batch = await state.seal(lane, 10_000);
    if (batch !== null) {
      this.#sealed({ ...batch, entries: batch.entries.map(labelOf) });
      return batch;
    }
    expect(this.#open.get(lane)?.isLeaving ?? true, "a sealed batch is gone").to.equal(true);
    for (const partition of partitions) {
      expect(this.#nextOf(lane, partition)).to.be.greaterThan(this.offsets[partition] ?? 0);
    }
    return null;
  }

  #sealed({ lane, token, isAgain, entries }: Sealed): void {
    const open = this.#open.get(lane);
    const hasBegun = this.#begun.has(lane);
    this.#begun.add(lane);
    if (open?.token === token) {
      expect(isAgain, "a batch that was given").to.equal(true);
      expect(entries).to.eql(open.entries);
      return;
    }
    expect(open?.isLeaving ?? true, "a sealed batch is gone").to.equal(true);
    expect(this.#tokens.has(token), "a token comes again").to.equal(false);
    this.#tokens.add(token);
    // One that nobody was given may have been sealed before the kill.
    if (hasBegun) expect(isAgain, "a batch that nobody was given").to.equal(false);
    expect(entries).to.eql(this.#following(lane, entries));
    this.#open.set(lane, { token, entries, isLeaving: false });
  }

  /** As many of each partition, from where the batch before ended. */
  #following(lane: RowLane, entries: readonly string[]): string[] {
    return partitions.flatMap((partition) => {
      const own = entries.filter((entry) => entry.startsWith(`${partition}/`));
      return own.map(() => {
        const offset = this.#nextOf(lane, partition);
        const next = this.#next.get(lane) ?? [];
        next[partition] = nextIn(lane, offset + 1);
        return `${partition}/${offset}`;
      });
    });
  }

  #nextOf(lane: RowLane, partition: number): number {
    return this.#next.get(lane)?.[partition] ?? 0;
  }
}
