/** Runs queries over movements, with the costly corrections for `known_at` only where needed. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { AsOf } from "./as-of.js";
import { touchedSql } from "./movements.js";
import { type Query, asOfParams } from "./query.js";

/**
 * The rows of `query` as of both moments. Where nothing was recorded after `known_at`, what is
 * stored is what was known. That is asked after the reading: if there is nothing then, there was
 * nothing before. The corrections cost 100 ms even when they correct nothing.
 */
export async function readMovements<Row>(
  clickhouse: Pick<ClickHouse, "rows">,
  query: (asOf: AsOf) => Query,
  asOf: AsOf,
): Promise<Row[]> {
  const read = ({ sql, params }: Query) => clickhouse.rows<Row>(sql, params);
  const stored = await read(query({ ...asOf, knownAt: null }));
  if (asOf.knownAt === null) return stored;
  const learnedSql = `SELECT 1 AS learned FROM (${touchedSql}) LIMIT 1`;
  const learned = await clickhouse.rows(learnedSql, asOfParams(asOf));
  return learned.length === 0 ? stored : read(query(asOf));
}
