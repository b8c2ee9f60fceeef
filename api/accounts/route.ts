/** `GET /v1/accounts`: customers that have or had MRR, in pages. */
import { z } from "zod";
import { forbidden } from "../../schemas/http/errors.js";
import type { ExportRow } from "../exports/columns.js";
import { seesCustomers } from "../customers/names.js";
import { tables } from "../exports/tables.js";
import { cellOf, monthsOf } from "../reading/metric-filters.js";
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
    accountOf: (row: ExportRow) => row["id"],
  };
  listRoute(api, options, async ({ ctx, access, query, asOf, ...asked }) => {
    const { vintage, active, search, sort = "-mrr" } = query;
    // With this search an API key could test whether somebody is a customer.
    if (search !== undefined && ctx.state.caller?.kind !== "member") throw membersOnly();
    const names = seesCustomers({ ctx, access }) ? api.customers : null;
    const wanted = {
      // An account has one vintage: which movements to read, not which of them to count.
      cell: cellOf({ ...query, vintage: undefined }, await asked.catalogue()),
      vintages: vintage && monthsOf(vintage),
      isActive: active === undefined ? undefined : active === "true",
      accounts:
        search === undefined
          ? undefined
          : await accountsNamed({ clickhouse, hash: api.hashAccount, names }, asOf, search),
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
