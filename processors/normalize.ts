/**
 * Normalizes raw events into facts. Stateless: nothing here depends on another event. The steps
 * below are the whole of it; each may be repeated at any time.
 */
import { setImmediate as letOthersRun } from "node:timers/promises";
import type { LogRecord } from "../backends/log.js";
import type { Service } from "../backends/service.js";
import type { Provider } from "../providers/provider.js";
import { factCodec, rejectCodec, topics } from "../schemas/records.js";
import { utcDay } from "../schemas/rates.js";
import { factKeys } from "./facts.js";
import type { RecentOutcomes } from "./journal.js";
import { type Outcome, readRaw } from "./read-raw.js";
import { rejectRow, rejectMessage } from "./reject.js";
import { insertRejects } from "../backends/rejects.js";

export type NormalizingService = Pick<
  Service,
  "clickhouse" | "log" | "logger" | "postgres" | "rates" | "vault"
> & {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly baseCurrencyOf: (workspace: string) => Promise<string | null>;
  /** For the journal, which follows behind. */
  readonly recent: RecentOutcomes;
  /** Something was told that earlier events of the workspace may have lacked. */
  readonly keptNews: (workspace: string) => void;
  readonly hashAccount: (
    workspace: string,
    environment: "live" | "test",
    provider: string,
    account: string,
  ) => string;
};

/** About 10 ms of work; then the doors of this process get their turn. */
const recordsAtOnce = 25;

export async function normalize(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Open the seal, decode, complete, convert: each event becomes facts, nothing, or a reject.
  const outcomes: Outcome[] = [];
  for (const [index, record] of records.entries()) {
    if (index % recordsAtOnce === recordsAtOnce - 1) await letOthersRun();
    outcomes.push(await readRaw(service, record));
  }

  // 2. Hand on. From here the facts are durable; a crash now only repeats this batch.
  const facts = outcomes.flatMap((outcome) => (outcome.kind === "facts" ? outcome.facts : []));
  if (facts.length > 0) {
    await service.log.append(
      topics.facts,
      facts.flatMap((fact) => {
        const value = factCodec.encode(fact);
        return factKeys(fact).map((key) => ({ key, value }));
      }),
    );
  }

  // 3. What cannot be booked is kept with step and reason, to be listed and replayed.
  const rejects = outcomes.filter((outcome) => outcome.kind === "rejected");
  if (rejects.length > 0) {
    await service.log.append(
      topics.rejected,
      rejects.map((outcome) => ({
        key: outcome.event.event_id,
        value: rejectCodec.encode(rejectMessage(outcome)),
      })),
    );
    await insertRejects(service.clickhouse, rejects.map(rejectRow));
    for (const { missingRate } of rejects) {
      // Fetched in the background; a new edition replays what waits for it (see role.ts).
      if (missingRate) {
        void service.rates.ensureDay(missingRate.currency, utcDay(missingRate.at));
      }
    }
  }

  service.recent.keep(outcomes);

  // 4. Acknowledge: the consumer moves the offset when this resolves.
}
