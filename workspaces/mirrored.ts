/**
 * What the workspace's own integration of a store reports is not booked again from RevenueCat's
 * copy (`definitions.md`, Providers).
 */
import type { Provider, ProviderToken } from "../providers/provider.js";
import type { Environment } from "../schemas/records/records.js";
import { hadIntegration } from "./integrations.js";
import type { Postgres } from "../stores/postgres/postgres.js";

/** Whether a copy of a sale in this store is not booked; undefined: it is no copy. */
export type IsMirrored = (store: ProviderToken | undefined) => Promise<boolean>;

/**
 * Each store is looked up once, however many events of one call ask.
 * @param at ms since 1970: the first receipt of the copy
 */
export function mirrorsAt(
  { postgres, providers }: { postgres: Postgres; providers: ReadonlyMap<string, Provider> },
  { workspace, environment }: { workspace: string; environment: Environment },
  at: number,
): IsMirrored {
  const known = new Map<ProviderToken, Promise<boolean>>();
  return async (provider) => {
    if (provider === undefined) return false;
    const reportsBoth = providers.get(provider)?.reportsBothEnvironments === true;
    const environments: Environment[] = reportsBoth ? ["live", "test"] : [environment];
    const had =
      known.get(provider) ?? hadIntegration(postgres, { workspace, environments, provider }, at);
    known.set(provider, had);
    return had;
  };
}
