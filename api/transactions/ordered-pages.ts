/**
 * Reads transactions in another order than newest first. Versions may differ in amount, so
 * candidates are versions in the order of their amounts, of which only the shown one counts.
 */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import {
  type Page,
  growingReads,
  pageFrom,
  type PinnedAsOf,
  type Placed,
  type ReadSizes,
} from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type OrderPosition, type OrderedRow, orderedCandidatesQuery } from "./candidates-query.js";
import { type ListedRow, type TransactionRow, transactionOf } from "./listed-row.js";
import { firstOfEachId } from "./pages.js";
import { type TransactionsWanted, isWanted, versionsQuery } from "./query.js";
import type { TransactionOrder } from "./schema.js";
import { asOfThen } from "./status-as-of.js";

export interface OrderedList {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly asOf: PinnedAsOf;
  readonly wanted: TransactionsWanted;
  readonly sort: TransactionOrder;
}

/** Versions of one read: where few of them count, each read is twice as long, up to this. */
const readVersionsMax = 2_000;

export function readOrderedTransactions(
  list: OrderedList,
  after: OrderPosition | null,
  limit: number,
): Promise<Page<TransactionRow, OrderPosition>> {
  return pageFrom(readsOf(list, after, { first: limit + 1, max: readVersionsMax }), limit);
}

export async function* readAllOrderedTransactions(
  list: OrderedList,
): AsyncGenerator<TransactionRow[]> {
  const counts = { first: limits.exportPageRows, max: limits.exportPageRows };
  for await (const some of readsOf(list, null, counts)) yield some.map(({ row }) => row);
}

type Ordered = Placed<TransactionRow, OrderPosition>;

function readsOf(list: OrderedList, after: OrderPosition | null, sizes: ReadSizes) {
  const { clickhouse, asOf, wanted, sort } = list;
  return growingReads<Ordered, OrderPosition>(after, sizes, async (last, count) => {
    const query = orderedCandidatesQuery(asOf, wanted, sort, last, count);
    const candidates = await rowsOf<OrderedRow>({ clickhouse }, query);
    // Versions of equal key lie together.
    const distinct = candidates.filter(
      ({ id, key }, index) =>
        id !== candidates[index - 1]?.id || key !== candidates[index - 1]?.key,
    );
    const versions = await shownOf(list, distinct);
    const shown = distinct.flatMap(({ id, key }) => {
      const row = versions.get(id);
      const isShown = row !== undefined && keyOf(row, sort) === key;
      return isShown ? [{ row, position: { key, id } }] : [];
    });
    const end = candidates.length < count ? undefined : candidates.at(-1);
    return { shown, end: end === undefined ? null : { key: end.key, id: end.id } };
  });
}

/** By id: the version that counts, where it is wanted. */
async function shownOf(
  { clickhouse, asOf, wanted }: OrderedList,
  candidates: readonly OrderedRow[],
): Promise<ReadonlyMap<string, TransactionRow>> {
  if (candidates.length === 0) return new Map();
  const places = candidates.map(({ timestamp_ms: timestamp, id }) => {
    return { timestamp: Number(timestamp), id };
  });
  const rows = await rowsOf<ListedRow>({ clickhouse }, versionsQuery(asOf, wanted, places));
  const chosen = firstOfEachId(rows).map(transactionOf);
  const then = wanted.isPast ? await asOfThen(clickhouse, asOf, chosen) : chosen;
  return new Map(then.filter((row) => isWanted(row, wanted)).map((row) => [row.id, row]));
}

function keyOf(row: TransactionRow, sort: TransactionOrder): string {
  return sort === "timestamp" ? row.timestamp_ms : row.normalized_amount;
}
