/** `GET /v1/accounts/{id}`: one customer, its subscriptions and all that happened. */
import { z } from "zod";
import { limits } from "../../config.js";
import { notFound } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { providerToken } from "../../schemas/http/transactions.js";
import { withCustomers } from "../customers/names.js";
import { tables } from "../exports/tables.js";
import { showMrr } from "../reading/amounts.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { listRoute } from "../reading/routes.js";
import { presentAccount, presentAccountSubscription } from "./presenter.js";
import {
  type AccountRow,
  type AccountSubscriptionRow,
  accountSubscriptionsQuery,
  accountsQuery,
} from "./query.js";
import {
  type AccountAnswer,
  type TimelineItem,
  accountQueryParameters,
  accountAnswer,
} from "./schema.js";
import { type PayerRow, payerQuery } from "./timeline-query.js";
import { readTimeline } from "./timeline.js";

export const accountRoute = listRoute(
  {
    path: "/v1/accounts/{id}",
    summary: "One customer: its subscriptions, and movements, payments and events in one time line",
    query: accountQueryParameters,
    answer: accountAnswer,
    position: z.object({ at: z.number().int(), items: z.number().int() }),
    table: tables.timeline,
  },
  async ({ api, service, ctx, access, asOf, ...asked }) => {
    const account = String(ctx.params["id"]);
    const currency = access.baseCurrency;
    const catalogue = await asked.catalogue();
    const found = await readAccount(service, asOf, account);
    if (found === null)
      throw notFound(
        "account_not_found",
        "There is no such account, or there was none yet at that time.",
      );
    const of = { asOf, account, catalogue, currency, provider: found.provider };
    const shown = found.row === undefined ? null : presentAccount(found.row, currency);
    const [named] = await withCustomers(
      api.customers,
      { ctx, access },
      [{ id: account }],
      ({ id }) => id,
    );
    const dataOf = (timeline: TimelineItem[]): AccountAnswer["data"] => ({
      id: account,
      provider: providerToken.parse(found.provider),
      vintage: shown?.vintage ?? null,
      active: shown?.active ?? false,
      mrr: shown?.mrr ?? showMrr(0n, currency),
      starting_mrr: shown?.starting_mrr ?? showMrr(0n, currency),
      currency,
      ...(named !== undefined && "customer" in named ? { customer: named.customer } : {}),
      subscriptions: found.subscriptions.map((row) =>
        presentAccountSubscription(row, catalogue, currency),
      ),
      timeline,
    });
    return {
      present: (item: TimelineItem) => item,
      async page(after, limit) {
        const { items, last } = await readTimeline(service, of, after, limit);
        return { rows: items, last, more: { data: dataOf(items) } };
      },
    };
  },
);

/** @returns null when no movement and no payment is of it */
async function readAccount(service: Service, asOf: PinnedAsOf, account: string) {
  const all = { cell: { condition: "true", params: {} } };
  const [rows, subscriptions, [payer]] = await Promise.all([
    rowsOf<AccountRow>(service, accountsQuery(asOf, all, [account])),
    rowsOf<AccountSubscriptionRow>(
      service,
      accountSubscriptionsQuery(asOf, account, limits.eventRowsMax),
    ),
    rowsOf<PayerRow>(service, payerQuery(asOf, account)),
  ]);
  const provider = rows[0]?.provider ?? payer?.provider;
  return provider === undefined ? null : { row: rows[0], subscriptions, provider };
}
