/** `GET /v1/accounts`: customers that have or had MRR, in pages. */
import { z } from "zod";
import { forbidden } from "../../schemas/http/errors.js";
import type { ExportRow } from "../exports/columns.js";
import { seesCustomers, withCustomers } from "../customers/names.js";
import { tables } from "../exports/tables.js";
import type { AccountsPart } from "../reading/accounts.js";
import { cellOf, monthsOf } from "../reading/metric-filters.js";
import { listRoute } from "../reading/routes.js";
import { readAccounts, readAllAccounts } from "./pages.js";
import { presentAccount } from "./presenter.js";
import type { AccountRow } from "./query.js";
import { accountsQueryParameters, accountsAnswer } from "./schema.js";
import { accountsNamed, accountsWithoutMrr } from "./search.js";

export const accountsRoute = listRoute(
  {
    path: "/v1/accounts",
    summary: "Customers that have or had MRR, by keyed hash",
    description:
      "Those behind a cell of retention are its `vintage` with `at` the end of its interval and " +
      "`active=true`.",
    query: accountsQueryParameters,
    answer: accountsAnswer,
    position: z.object({ key: z.string().regex(/^-?\d+(\.\d+)?$/), account: z.string() }),
    table: tables.accounts,
    accountOf: (row: ExportRow) => row["id"],
  },
  async ({ api, ctx, access, query, asOf, ...asked }) => {
    const { clickhouse } = api.service;
    const { active, search, sort = "-mrr" } = query;
    const part = await asked.narrowed(query);
    const { vintage, accounts: ofSegment } = part;
    // With this search an API key could test whether somebody is a customer.
    if (search !== undefined && ctx.state.caller?.kind !== "member") throw membersOnly();
    const names = seesCustomers({ ctx, access }) ? api.customers : null;
    const found =
      search === undefined
        ? undefined
        : await accountsNamed({ clickhouse, hash: api.hashAccount, names }, asOf, search);
    const isNarrowed = [active, query.segment, ...filterNames.map((name) => query[name])].some(
      (each) => each !== undefined,
    );
    const wanted = {
      // An account has one vintage, which decides which movements to read, not which to count.
      cell: cellOf({ ...part, vintage: undefined, accounts: undefined }, await asked.catalogue()),
      vintages: vintage && monthsOf(vintage),
      isActive: active === undefined ? undefined : active === "true",
      accounts: found === undefined ? ofSegment : narrowedTo(found, ofSegment),
    };
    const others = async () => {
      if (found === undefined || isNarrowed) return {};
      const rows = await accountsWithoutMrr({ clickhouse }, asOf, found);
      const shown = rows.map(({ account: id, provider }) => ({ id, provider }));
      return {
        without_mrr: await withCustomers(api.customers, { ctx, access }, shown, ({ id }) => id),
      };
    };
    const list = { clickhouse, asOf, wanted, sort };
    return {
      present: (row: AccountRow) => presentAccount(row, access.baseCurrency),
      async page(after, limit) {
        const [page, more] = await Promise.all([
          readAccounts(list, after, limit),
          after === null ? others() : {},
        ]);
        return { ...page, more };
      },
      all: () => readAllAccounts(list),
    };
  },
);

/** What narrows a search besides. */
const filterNames = ["vintage", "provider", "product", "currency", "country"] as const;

function narrowedTo(found: readonly string[], ofSegment: AccountsPart = {}): AccountsPart {
  const names = ofSegment.listed && new Set(ofSegment.listed);
  return { ...ofSegment, listed: found.filter((account) => names?.has(account) ?? true) };
}

function membersOnly() {
  return forbidden("session_required", "Only members may search for customers.");
}
