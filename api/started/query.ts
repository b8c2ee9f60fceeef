/** SQL of what is counted by the month in which it began, from the changes of subscriptions. */
import { transferSuffix } from "../../schemas/movements.js";
import type { AsOf } from "../reading/as-of.js";
import { accountsParams, accountsSql } from "../reading/accounts.js";
import type { CellQuery } from "../reading/metric-filters.js";
import {
  type Query,
  allOf,
  asOfParams,
  fromSql,
  given,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";
import type { Series } from "../reading/series.js";

/** What began in these months, with what became of it up to `asOf.at`. */
export interface Started {
  readonly months: Series;
  /** Not before the end of the months. */
  readonly asOf: AsOf;
}

/** Of whole accounts. */
export type StartedPart = Pick<CellQuery, "provider" | "accounts">;

/** Condition: known then, and of this part. */
export function knownSql({ asOf }: Started, { provider, accounts }: StartedPart): string {
  return allOf(
    tenantSql,
    asOf.knownAt !== null && `recorded_at <= ${knownAtSql}`,
    provider !== undefined && "provider IN {provider:Array(String)}",
    accounts !== undefined && accountsSql(accounts),
  );
}

/** @param at SQL of a time */
export function isInMonths(at: string): string {
  return `${at} >= ${fromSql} AND ${at} <= ${momentSql("until")}`;
}

/**
 * The newest revision of each change of these subscriptions, void ones among them. A subscription
 * is one whatever accounts it was reported under, so the ends that only say so are left out.
 *
 * @param columns besides those that say in which order changes count (`timeOf`)
 * @param subscriptions SQL of a table of provider and subscription
 */
export function changesSql(columns: string, known: string, subscriptions: string): string {
  return `SELECT provider, subscription, change_id, at, phase, event_id, recorded_at, void,
  ${columns}
FROM subscription_changes
WHERE ${known} AND NOT endsWith(change_id, '${transferSuffix}')
  AND (provider, subscription) GLOBAL IN (SELECT provider, subscription FROM ${subscriptions})
ORDER BY revision DESC LIMIT 1 BY provider, subscription, account, change_id`;
}

export function startedParams(
  { months, asOf }: Started,
  { provider, accounts }: StartedPart,
): Query["params"] {
  const until = months.asOf.at;
  const params = { ...asOfParams(asOf), ...accountsParams(accounts) };
  return given({ ...params, from: months.from, until, provider });
}
