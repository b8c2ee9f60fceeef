/** Runs queries over movements, with the costly corrections for `known_at` only where needed. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { AsOf } from "./as-of.js";
import { learnedSinceQuery } from "./movements.js";
import type { Query } from "./query.js";

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
  return (await isStored(clickhouse, asOf)) ? stored : read(query(asOf));
}

/** Whether all that was read before this call was known at `known_at`. */
async function isStored(clickhouse: Pick<ClickHouse, "rows">, asOf: AsOf): Promise<boolean> {
  if (asOf.knownAt === null) return true;
  const { sql, params } = learnedSinceQuery({ ...asOf, knownAt: asOf.knownAt });
  const learned = await clickhouse.rows(sql, params);
  return learned.length === 0;
}
