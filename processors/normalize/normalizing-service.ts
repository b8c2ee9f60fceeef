/** What normalizing needs of the service. */
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
  /** Only its memory is looked at here; asking is left to groups of their own. */
  readonly apis: ProviderApis;
  /** Whether answers are kept for the workspace, by whatever credentials. */
  readonly answersKept: (workspace: string) => Promise<boolean>;
  /** What need not be asked for again. */
  readonly reported: RecentlyPublished;
  /** For the journal, which follows behind. */
  readonly recent: RecentOutcomes;
  /** Something arrived that earlier events of the workspace may have lacked. */
  readonly keptNews: (workspace: string) => void;
  /** A rate that an event was rejected for is known by now. */
  readonly ratesKnown: () => void;
  readonly hashAccount: HashAccount;
  /** Whom events name, for members. */
  readonly customers: Customers;
  readonly stopping: AbortSignal;
};
