/** `GET /v1/accounts`: customers that have or had MRR, in pages. */
import { z } from "zod";
import type { Service } from "../../runtime/service.js";
import { utcDay } from "../../schemas/money/rates.js";
import { tables } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { rowsOf } from "../reading/reading.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { type ReadApi, listRoute } from "../reading/routes.js";
import { presentAccount } from "./presenter.js";
import { type AccountRow, type AccountsWanted, accountsQuery } from "./query.js";
import { accountsQueryParameters } from "./schema.js";

const position = z.object({ account: z.string() });
type Position = z.output<typeof position>;

export function accountsRoute(api: ReadApi): void {
  const options = {
    path: "/v1/accounts",
    parameters: accountsQueryParameters,
    position,
    table: tables.accounts,
  };
  listRoute(api, options, async ({ access, query, asOf, ...asked }) => {
    const { vintage, active } = query;
    const wanted = {
      cell: cellOf(query, await asked.catalogue()),
      vintages: vintage === undefined ? undefined : vintagesOf(vintage),
      isActive: active === undefined ? undefined : active === "true",
    };
    return {
      present: (row: AccountRow) => presentAccount(row, access.baseCurrency),
      page: (after, limit) => readAccounts(api.service, asOf, wanted, after, limit),
    };
  });
}

async function readAccounts(
  { clickhouse }: Pick<Service, "clickhouse">,
  asOf: PinnedAsOf,
  wanted: AccountsWanted,
  after: Position | null,
  limit: number,
): Promise<Page<AccountRow, Position>> {
  const found = await rowsOf<AccountRow>(
    { clickhouse },
    accountsQuery(asOf, wanted, after?.account ?? null, limit + 1),
  );
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, last: last === undefined ? null : { account: last.account } };
}

/**
 * @param vintage `2026-05`, `2026-Q2` or `2026`
 * @returns the first day of its first month, and of the one after its last
 */
function vintagesOf(vintage: string): { readonly from: string; readonly to: string } {
  const [year = "", part] = vintage.split("-");
  const day = (month: number) => utcDay(Date.UTC(Number(year), month));
  if (part === undefined) return { from: day(0), to: day(12) };
  if (!part.startsWith("Q")) return { from: day(Number(part) - 1), to: day(Number(part)) };
  const quarter = Number(part.slice(1));
  return { from: day(3 * quarter - 3), to: day(3 * quarter) };
}
