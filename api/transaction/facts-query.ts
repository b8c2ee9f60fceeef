/** Facts about money: of one event, or under the keys they are looked for by. */
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { type Query, knownAtSql, tenantSql } from "../reading/query.js";

export interface MoneyFactRow {
  /** `payment:…` or `purchase:…` */
  readonly key: string;
  /** Avro JSON of `schemas/records` Fact */
  readonly fact: string;
}

type Tenant = Pick<PinnedAsOf, "workspace" | "environment">;

/** @param asOf with `knownAt`: those known then; without: all */
export function factsUnderKeysQuery(
  asOf: Tenant & { readonly knownAt?: number },
  provider: string,
  keys: readonly string[],
): Query {
  const { workspace, environment, knownAt } = asOf;
  const known = knownAt === undefined ? "" : ` AND received_at <= ${knownAtSql}`;
  return {
    sql: `SELECT key, fact FROM money_facts
WHERE ${tenantSql} AND provider = {provider:String} AND key IN {keys:Array(String)}${known}
ORDER BY received_at, fact_id LIMIT 1 BY key, fact_id`,
    params: {
      workspace,
      environment,
      provider,
      keys,
      ...(knownAt === undefined ? {} : { known_at: knownAt }),
    },
  };
}

export interface LinkedFactRow {
  readonly provider: string;
  readonly fact: string;
}

/** The facts under the key of a purchase, whichever provider's. */
export function factsOfPurchaseQuery(asOf: PinnedAsOf, key: string): Query {
  const { workspace, environment, knownAt } = asOf;
  return {
    sql: `SELECT provider, fact FROM money_facts
WHERE ${tenantSql} AND provider IN {providers:Array(String)} AND key = {key:String}
  AND received_at <= ${knownAtSql}
ORDER BY provider, fact_id LIMIT 1 BY provider, fact_id`,
    params: { workspace, environment, known_at: knownAt, providers: [...providerTokens], key },
  };
}

export function factsOfEventQuery(tenant: Tenant, eventId: string, rowsMax: number): Query {
  return {
    sql: `SELECT key, fact FROM money_facts
WHERE ${tenantSql} AND event_id = {event_id:String}
ORDER BY fact_id, key LIMIT 1 BY key, fact_id LIMIT {rows_max:UInt32}`,
    params: {
      workspace: tenant.workspace,
      environment: tenant.environment,
      event_id: eventId,
      rows_max: rowsMax,
    },
  };
}
