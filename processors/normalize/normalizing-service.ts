import type { Customers } from "../../workspaces/customers/customers.js";
import type { ProviderApis } from "../../providers/api/provider-api.js";
import type { Service } from "../../service.js";
import type { Watermark } from "../../stores/watermark/watermark.js";
import type { Provider } from "../../providers/provider.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { RecentlyPublished } from "../enrich/recently-published.js";
import type { RecentOutcomes } from "./recent-outcomes.js";

export type NormalizingService = Pick<
  Service,
  "clickhouse" | "integrations" | "log" | "logger" | "postgres" | "rates" | "vault"
> & {
  readonly watermark: Pick<Watermark, "callsInFlight" | "hurry">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly baseCurrencyOf: (workspace: string) => Promise<string | null>;
  /** Only its memory is used here; asking is left to other groups. */
  readonly apis: ProviderApis;
  /** Whether answers are kept for the workspace, whatever the credentials. */
  readonly answersKept: (workspace: string) => Promise<boolean>;
  /** Answers that need not be asked for again. */
  readonly reported: RecentlyPublished;
  /** For the journal, which follows behind. */
  readonly recent: RecentOutcomes;
  /** Something arrived that earlier events of the workspace may have lacked. */
  readonly keptNews: (workspace: string) => void;
  /** A rate is known for which an event was rejected. */
  readonly ratesKnown: () => void;
  readonly hashAccount: HashAccount;
  readonly customers: Customers;
  readonly stopping: AbortSignal;
};
