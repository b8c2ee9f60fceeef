/** `GET /v1/accounts`: customers that have or had MRR, in pages. */
import { z } from "zod";
import { forbidden } from "../../http/errors.js";
import { utcDay } from "../../schemas/money/rates.js";
import { tables } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { type ReadApi, listRoute } from "../reading/routes.js";
import { readAccounts, readAllAccounts } from "./pages.js";
import { presentAccount } from "./presenter.js";
import type { AccountRow } from "./query.js";
import { accountsQueryParameters } from "./schema.js";
import { accountsNamed } from "./search.js";

export function accountsRoute(api: ReadApi): void {
  const { clickhouse } = api.service;
  const options = {
    path: "/v1/accounts",
    parameters: accountsQueryParameters,
    position: z.object({ key: z.string().regex(/^-?\d+(\.\d+)?$/), account: z.string() }),
    table: tables.accounts,
  };
  listRoute(api, options, async ({ ctx, access, query, asOf, ...asked }) => {
    const { vintage, active, search, sort = "-mrr" } = query;
    // With this search an API key could test whether somebody is a customer.
    if (search !== undefined && ctx.state.caller?.kind !== "member") throw membersOnly();
    const wanted = {
      cell: cellOf(query, await asked.catalogue()),
      vintages: vintage === undefined ? undefined : vintagesOf(vintage),
      isActive: active === undefined ? undefined : active === "true",
      accounts:
        search === undefined
          ? undefined
          : await accountsNamed(clickhouse, asOf, api.hashAccount, search),
    };
    const list = { clickhouse, asOf, wanted, sort };
    return {
      present: (row: AccountRow) => presentAccount(row, access.baseCurrency),
      page: (after, limit) => readAccounts(list, after, limit),
      all: () => readAllAccounts(list),
    };
  });
}

function membersOnly() {
  return forbidden("session_required", "Only members may search for customers.");
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
