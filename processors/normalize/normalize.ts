/**
 * Normalizes raw events into facts. Stateless: nothing here depends on another event. The steps
 * below are the whole of it; each may be repeated at any time.
 */
import type { LogRecord } from "../../log/log.js";
import type { ProviderApis } from "../../provider-api/provider-api.js";
import type { Service } from "../../runtime/service.js";
import type { Watermark } from "../../watermark/watermark.js";
import type { Provider } from "../../providers/provider.js";
import type { HashAccount } from "../../vault/account-hash.js";
import { Slices } from "../yield-to-event-loop.js";
import { handOn } from "./publish-facts.js";
import type { RecentOutcomes } from "./journal.js";
import { lookAgain } from "../rejects/recheck.js";
import { type Outcome, readRaw } from "./read-raw.js";
import type { RecentlyPublished } from "../enrich/recently-published.js";

export type NormalizingService = Pick<
  Service,
  "clickhouse" | "integrations" | "log" | "logger" | "postgres" | "rates" | "vault"
> & {
  readonly watermark: Pick<Watermark, "callsAtTheDoor">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly baseCurrencyOf: (workspace: string) => Promise<string | null>;
  /** Only its memory is looked at here; asking is left to groups of their own. */
  readonly apis: ProviderApis;
  /** What need not be asked for again. */
  readonly reported: RecentlyPublished;
  /** For the journal, which follows behind. */
  readonly recent: RecentOutcomes;
  /** Something was informed that earlier events of the workspace may have lacked. */
  readonly keptNews: (workspace: string) => void;
  /** A rate that an event was rejected for is known by now. */
  readonly ratesKnown: () => void;
  readonly hashAccount: HashAccount;
};

/** About 10 ms of work; then the doors of this process get their turn. */
const recordsAtOnce = 25;

export async function normalize(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Open the seal, decode, complete, convert: each event becomes facts, nothing, a reject, or
  //    waits for its provider's API.
  const outcomes: Outcome[] = [];
  const slices = new Slices(service.watermark);
  for (const [index, record] of records.entries()) {
    if (index % recordsAtOnce === recordsAtOnce - 1) await slices.letOthersRun();
    outcomes.push(await readRaw(service, record));
  }

  // 2. Hand on; from here all of it is durable.
  await handOn(service, outcomes);
  await lookAgain(service, outcomes);
  service.recent.keep(outcomes);

  // 3. Acknowledge: the consumer moves the offset when this resolves.
}
