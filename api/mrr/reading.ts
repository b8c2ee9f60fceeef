/** Reads MRR as of a moment and as of a month before it. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { AsOf } from "../reading/as-of.js";
import { growthThen } from "../reading/calendar.js";
import type { Query } from "../reading/query.js";
import {
  type MrrPairRow,
  type MrrPartRow,
  learnedAccountsMax,
  learnedAccountsQuery,
  learnedSinceThenQuery,
  mrrPairQuery,
  mrrPairs,
} from "./query.js";

/**
 * To work out what was known of an account takes 50 ms of planning, so that is done only where
 * something was learned since, in one statement, while the sums are read.
 */
export async function readMrr(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: AsOf,
): Promise<MrrPairRow[]> {
  const read = <Row>({ sql, params }: Query) => clickhouse.rows<Row>(sql, params);
  const previousAt = Math.max(0, growthThen(asOf.at));
  const sums = read<MrrPartRow>(mrrPairQuery(asOf, previousAt));
  if (asOf.knownAt === null) return mrrPairs(await sums, asOf.at, previousAt);
  const [rows, changed] = await Promise.all([
    sums,
    read<{ readonly account: string }>(learnedAccountsQuery(asOf)),
  ]);
  const learned = new Set([
    ...changed.map(({ account }) => account),
    ...rows.flatMap((row) => row.learned ?? []),
  ]);
  // The name of the rows that were not.
  learned.delete("");
  if (learned.size === 0) return mrrPairs(rows, asOf.at, previousAt);
  const accounts = learned.size > learnedAccountsMax ? null : [...learned];
  const more = await read<MrrPartRow>(learnedSinceThenQuery(asOf, previousAt, accounts));
  return mrrPairs([...rows, ...more], asOf.at, previousAt);
}
