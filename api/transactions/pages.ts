/** Reads transactions, a page or all: chooses the version of each, then filters. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { type Page, type PinnedAsOf, type ReadSizes, growingReads } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type CandidateRow, candidatesQuery, hasCandidates } from "./candidates-query.js";
import type { PassingRows } from "./filter-selectivity.js";
import { type ListedRow, transactionOf, type TransactionRow } from "./listed-row.js";
import {
  type TransactionPosition,
  type TransactionsWanted,
  isWanted,
  listKey,
  transactionCountQuery,
  transactionsQuery,
  versionsQuery,
} from "./query.js";
import { asOfThen } from "./status-as-of.js";

/** Most transactions have up to this many versions; those with more cost another read. */
const versionsUsual = 3;
/** So that a second version here and there, or one that does not pass, costs no other read. */
const candidatesSpare = 1.25;
/** Transactions of one read: where few pass, each read is twice as long, up to this. */
const readTransactionsMax = 2_000;

export async function* readAllTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
): AsyncGenerator<TransactionRow[]> {
  const count = Math.ceil(limits.exportPageRows / versionsUsual);
  yield* readsOf({ clickhouse, asOf, wanted }, null, { first: count, max: count }, false);
}

/** @returns null when only reading them all shows how many there are */
export async function countTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
): Promise<number | null> {
  if (wanted.isPast && wanted.status !== undefined) return null;
  const query = transactionCountQuery(asOf, wanted);
  const [row] = await rowsOf<{ readonly transactions: string }>({ clickhouse }, query);
  return Number(row?.transactions ?? 0);
}

/**
 * @param passing what is known of the lists of this process
 * @returns up to `limit` rows, and where the next page begins; null at the end of the list
 */
export async function readTransactions(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  wanted: TransactionsWanted,
  after: TransactionPosition | null,
  limit: number,
  passing: PassingRows,
): Promise<Page<TransactionRow, TransactionPosition>> {
  const found: TransactionRow[] = [];
  for await (const rows of readsOfPage({ clickhouse, asOf, wanted }, after, limit + 1, passing)) {
    found.push(...rows);
    if (found.length > limit) {
      const page = found.slice(0, limit);
      return { rows: page, last: positionOf(page.at(-1)) };
    }
  }
  return { rows: found, last: null };
}

interface List {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly asOf: PinnedAsOf;
  readonly wanted: TransactionsWanted;
}

/**
 * Where many rows pass the filters, all of them are read in order and filtered here, which is one
 * statement instead of two to four.
 * @param count transactions of the page, or a few more
 */
async function* readsOfPage(
  list: List,
  after: TransactionPosition | null,
  count: number,
  passing: PassingRows,
): AsyncGenerator<TransactionRow[]> {
  const { asOf, wanted } = list;
  const name = listKey(asOf, wanted);
  // As of the past the ledger is asked about each row. One customer, or one id, never has many.
  const isFew = wanted.account !== undefined || wanted.ids !== undefined;
  const isFiltered = hasCandidates(wanted) && !wanted.isPast && !isFew;
  const rowsMax = isFiltered ? passing.rowsFor(name, count) : null;
  let position = after;
  if (rowsMax !== null) {
    const { rows, last } = await readInOrder(list, after, rowsMax);
    const shown = firstOfEachId(rows).map(transactionOf);
    const passed = shown.filter((row) => isWanted(row, wanted));
    if (rows.length > 0) passing.learn(name, passed.length, rows.length);
    yield passed;
    if (last === null) return;
    position = last;
  }
  const counts = { first: count, max: readTransactionsMax };
  const isShort = isFew || passing.isShort(name);
  let reads = 0;
  for await (const rows of readsOf(list, position, counts, isShort)) {
    reads += 1;
    yield rows;
  }
  // It gave fewer than were wanted: there are no more.
  if (position === null && reads === 1) passing.learnShort(name);
}

/**
 * @param sizes in transactions
 * @param isShort as `candidatesQuery` takes it
 */
function readsOf(
  list: List,
  after: TransactionPosition | null,
  sizes: ReadSizes,
  isShort: boolean,
): AsyncGenerator<TransactionRow[]> {
  const { clickhouse, asOf, wanted } = list;
  return growingReads<TransactionRow, TransactionPosition>(after, sizes, async (from, count) => {
    const { rows, last } = await (hasCandidates(wanted)
      ? readCandidates(list, from, count, isShort)
      : readInOrder(list, from, versionsUsual * count));
    const chosen = firstOfEachId(rows).map(transactionOf);
    const then = wanted.isPast ? await asOfThen(clickhouse, asOf, chosen) : chosen;
    return { shown: then.filter((row) => isWanted(row, wanted)), end: last };
  });
}

/** All known versions of each transaction, the one that counts first. */
type Read = Page<ListedRow, TransactionPosition>;

/** By no filter that versions may differ in. */
async function readInOrder(
  { clickhouse, asOf, wanted }: List,
  after: TransactionPosition | null,
  rowsMax: number,
): Promise<Read> {
  const query = transactionsQuery(asOf, wanted, after, rowsMax);
  const rows = await rowsOf<ListedRow>({ clickhouse }, query);
  return { rows, last: rows.length < rowsMax ? null : positionOf(rows.at(-1)) };
}

/**
 * Looks for candidates first, and then reads what is shown of them at once: where few rows pass a
 * filter, each row that is read needlessly lies apart from the others and costs half a millisecond.
 * @param count how many transactions, or a few more, because the shown version may not pass
 */
async function readCandidates(
  { clickhouse, asOf, wanted }: List,
  after: TransactionPosition | null,
  count: number,
  isShort: boolean,
): Promise<Read> {
  const candidates = new Map<string, TransactionPosition>();
  let last = after;
  let rowsMax = Math.ceil(candidatesSpare * count);
  let isEnd = false;
  while (candidates.size < count && !isEnd) {
    const query = candidatesQuery(asOf, wanted, last, rowsMax, isShort);
    const rows = await rowsOf<CandidateRow>({ clickhouse }, query);
    for (const row of rows) {
      last = { timestamp: Number(row.timestamp_ms), id: row.id };
      candidates.set(row.id, last);
    }
    isEnd = rows.length < rowsMax;
    // Several versions of each pass.
    rowsMax = versionsUsual * (count - candidates.size);
  }
  if (candidates.size === 0) return { rows: [], last: null };
  const query = versionsQuery(asOf, wanted, [...candidates.values()]);
  const rows = await rowsOf<ListedRow>({ clickhouse }, query);
  return { rows, last: isEnd ? null : last };
}

/** The rows of one id lie together, the version that counts first: its account decides. */
export function firstOfEachId(rows: readonly ListedRow[]): ListedRow[] {
  const first = rows.filter((row, index) => row.id !== rows[index - 1]?.id);
  return first.filter(({ is_listed: isListed }) => isListed !== 0);
}

function positionOf(
  row: Pick<TransactionRow, "timestamp_ms" | "id"> | undefined,
): TransactionPosition | null {
  return row === undefined ? null : { timestamp: Number(row.timestamp_ms), id: row.id };
}
