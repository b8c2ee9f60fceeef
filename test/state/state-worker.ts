/**
 * Run by state-kills.test.ts as a process of its own: commits, seals and removes until it is killed
 * or something fails.
 */
import { setTimeout as pause } from "node:timers/promises";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { Chance } from "../../ops/demo/chance.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { createLogger } from "../../runtime/logger.js";
import { PostgresState } from "../../stores/state/postgres-state.js";
import {
  type OwnedPartition,
  type RowLane,
  rowLanes,
  type State,
} from "../../stores/state/state.js";
import { lmdbTopics } from "../log/log-topics.js";
import { labelOf, partitions, roundOf, type Step } from "./killed-rounds.js";

/** It goes on committing when less is queued. */
const queuedBytesMax = 1_000_000;
const batchBytesMax = 50_000;

const [where = "", seed = ""] = process.argv.slice(2);
const logger = createLogger("silent");
const chance = new Chance(seed);
const state = await openState();
const owned = await Promise.all(partitions.map((partition) => state.take(partition)));
report({ did: "taken" });
// Aborted, with the reason, by the first that fails.
const ending = new AbortController();
const work = [...owned.map(commitUntilTheEnd), ...rowLanes.map(emptyUntilTheEnd)];
await Promise.all(work.map((one) => one.catch((error: unknown) => ending.abort(error))));
const { reason }: { reason: unknown } = ending.signal;
const error = reason instanceof Error ? reason.name : String(reason);
report({ did: "failed", error, queuedBytes: await state.queuedBytes() });
process.exit();

async function openState(): Promise<State> {
  if (where.includes("://")) return new PostgresState(await openPostgres({ url: where }, logger));
  return openLmdbLog({ path: where, topics: lmdbTopics(), logger }).state;
}

async function commitUntilTheEnd(of: OwnedPartition): Promise<void> {
  const { partition } = of;
  for (let offset = Number(of.offset) + 1; !ending.signal.aborted; offset += 1) {
    while (!ending.signal.aborted && (await state.queuedBytes()) > queuedBytesMax) await pause(1);
    await of.commit(roundOf(partition, offset));
    report({ did: "committed", partition, offset });
  }
}

async function emptyUntilTheEnd(lane: RowLane): Promise<void> {
  while (!ending.signal.aborted) {
    const batch = await state.seal(lane, chance.whole(0, batchBytesMax));
    if (batch === null) {
      await pause(1);
      continue;
    }
    const { token, isAgain, entries } = batch;
    report({ did: "sealed", lane, token, isAgain, entries: entries.map(labelOf) });
    if (chance.happens(30)) continue;
    report({ did: "removing", lane, token });
    await state.remove(batch);
    report({ did: "removed", lane, token });
  }
}

/** Written to a pipe before it returns. */
function report(step: Step): void {
  process.stdout.write(`${JSON.stringify(step)}\n`);
}
