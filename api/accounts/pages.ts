import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { type Page, pageFrom, type PinnedAsOf, type Placed } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type AccountPosition, accountOrderQuery } from "./order-query.js";
import { type AccountRow, type AccountsWanted, accountsQuery } from "./query.js";
import type { AccountSort } from "./schema.js";

export interface AccountList {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly asOf: PinnedAsOf;
  readonly wanted: AccountsWanted;
  readonly sort: AccountSort;
}

/** An account may be left out of the answer: then more are read, up to so many at a time. */
const readAccountsMax = 2_000;
/** All accounts are looked at to find the next ones, so an export asks for many at once. */
const exportAccountsMax = 50_000;

export function readAccounts(
  list: AccountList,
  after: AccountPosition | null,
  limit: number,
): Promise<Page<AccountRow, AccountPosition>> {
  return pageFrom(readsOf(list, after, { first: limit + 1, max: readAccountsMax }), limit);
}

export async function* readAllAccounts(list: AccountList): AsyncGenerator<AccountRow[]> {
  const counts = { first: exportAccountsMax, max: exportAccountsMax };
  for await (const some of readsOf(list, null, counts)) yield some.map(({ row }) => row);
}

type Ordered = Placed<AccountRow, AccountPosition>;

async function* readsOf(
  { clickhouse, asOf, wanted, sort }: AccountList,
  after: AccountPosition | null,
  counts: Readonly<Record<"first" | "max", number>>,
): AsyncGenerator<Ordered[]> {
  let count = counts.first;
  // Ends with the list at the latest: every read begins after the one before.
  for (let last = after; ;) {
    const order = accountOrderQuery(asOf, wanted, sort, last, count);
    const positions = await rowsOf<AccountPosition>({ clickhouse }, order);
    for (let from = 0; from < positions.length; from += limits.exportPageRows) {
      const some = positions.slice(from, from + limits.exportPageRows);
      const ids = some.map(({ account }) => account);
      const rows = await rowsOf<AccountRow>({ clickhouse }, accountsQuery(asOf, wanted, ids));
      const byId = new Map(rows.map((row) => [row.account, row]));
      yield some.flatMap((position) => {
        const row = byId.get(position.account);
        return row === undefined ? [] : [{ row, position }];
      });
    }
    if (positions.length < count) return;
    last = positions.at(-1) ?? null;
    count = Math.min(counts.max, 2 * count);
  }
}
