/** Facts about money: of one event, or under their keys. */
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, allOf, given, knownAtSql, tenantSql } from "../reading/query.js";

export interface MoneyFactRow {
  /** `payment:…` or `purchase:…` */
  readonly key: string;
  /** Avro JSON of `schemas/records` Fact */
  readonly fact: string;
}

type Tenant = Pick<PinnedAsOf, "workspace" | "environment">;

/** @param asOf with `knownAt`: those known then; without: all */
export function factsUnderKeysQuery(
  { workspace, environment, knownAt }: Tenant & { readonly knownAt?: number },
  provider: string,
  keys: readonly string[],
): Query {
  const condition = allOf(
    tenantSql,
    "provider = {provider:String} AND key IN {keys:Array(String)}",
    knownAt !== undefined && knownSql,
  );
  return {
    sql: `SELECT key, fact FROM money_facts WHERE ${condition}
ORDER BY received_at, fact_id LIMIT 1 BY key, fact_id`,
    params: given({ workspace, environment, provider, keys, known_at: knownAt }),
  };
}

export interface LinkedFactRow extends Pick<MoneyFactRow, "fact"> {
  readonly provider: string;
}

/** The facts under the key of a purchase, of any provider. */
export function factsOfPurchaseQuery(asOf: PinnedAsOf, key: string): Query {
  const { workspace, environment, knownAt } = asOf;
  return {
    sql: `SELECT provider, fact FROM money_facts
WHERE ${tenantSql} AND provider IN {providers:Array(String)} AND key = {key:String} AND ${knownSql}
ORDER BY provider, fact_id LIMIT 1 BY provider, fact_id`,
    params: { workspace, environment, known_at: knownAt, providers: [...providerTokens], key },
  };
}

const knownSql = `received_at <= ${knownAtSql}`;

export function factsOfEventQuery(tenant: Tenant, eventId: string, rowsMax: number): Query {
  const { workspace, environment } = tenant;
  return {
    sql: `SELECT key, fact FROM money_facts
WHERE ${tenantSql} AND event_id = {event_id:String}
ORDER BY fact_id, key LIMIT 1 BY key, fact_id LIMIT {rows_max:UInt32}`,
    params: { workspace, environment, event_id: eventId, rows_max: rowsMax },
  };
}
