/** `GET /v1/metrics/mrr/what-changed`. */
import { unprocessable } from "../../schemas/http/errors.js";
import { customersTable, withCustomers } from "../customers/names.js";
import { tables } from "../exports/tables.js";
import { sendTable } from "../exports/send.js";
import { checkKnownAt } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { sumsOf } from "../reading/movement-sums.js";
import { checkRange, clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { type MovementKindRow, movementKindsQuery } from "../summary/movement-kinds.js";
import { changesOf, presentWhatChanged } from "./presenter.js";
import { type WhatChangedSum, whatChangedQuery } from "./query.js";
import { rowsOf as rowsWanted, whatChangedQueryParameters, whatChangedAnswer } from "./schema.js";

export const whatChangedRoute = readRoute(
  {
    path: "/v1/metrics/mrr/what-changed",
    summary: "What made MRR another between two moments, largest first",
    description:
      "By account, product, country, provider or plan interval; `rows` and `others` add up to " +
      "`difference`.",
    query: whatChangedQueryParameters,
    answer: whatChangedAnswer,
  },
  async (asked) => {
    const { service, ctx, access, query, format } = asked;
    const clocks = await clocksOf(service, access);
    const {
      from,
      // Exclusive, so that what happened at the newest moment counts.
      to = clocks.reach + 1,
      by = "account",
      known_at: knownAt = clocks.completeTo,
    } = query;
    checkRange({ from, to });
    if (to - 1 > clocks.reach)
      throw unprocessable("moment_in_future", "to lies in the future.", "to");
    checkKnownAt(knownAt, clocks, "known_at");
    const { workspace, environment } = access;
    // Pinned, so that what is booked between the two statements counts in neither.
    const asOf = { workspace, environment, at: to - 1, knownAt };
    const catalogue = await asked.catalogue();
    const cell = cellOf(await asked.narrowed(query), catalogue);
    const limit = rowsWanted(query);
    const time = { from, to };
    const [kinds, rows] = await Promise.all([
      rowsOf<MovementKindRow>(service, movementKindsQuery(asOf, from - 1, cell)),
      rowsOf<WhatChangedSum>(
        service,
        whatChangedQuery(asOf, time, by, cell, by === "product" ? null : limit),
      ),
    ]);
    const changes = changesOf(rows, by, catalogue);
    const groups = by === "product" ? changes.length : Number(rows[0]?.groups ?? 0);
    const sumsAt = (moment: MovementKindRow["moment"]) =>
      sumsOf(kinds.filter((row) => row.moment === moment));
    const [then, now] = [sumsAt("then"), sumsAt("now")];
    const shown = changes.slice(0, limit);
    const data = presentWhatChanged(time, then, now, shown, groups, access.baseCurrency);
    const accountOf =
      by === "account" ? ({ account }: { readonly account?: unknown }) => account : undefined;
    const { customers } = asked.api;
    if (format === null) {
      const named = accountOf
        ? await withCustomers(customers, asked, data.rows, accountOf)
        : data.rows;
      return { data: { ...data, rows: named }, complete_to: completeText(clocks) };
    }
    const wanted = customersTable(customers, asked, tables.whatChanged, accountOf);
    const flat = data.rows.map(({ kinds: ofRow, ...row }) => ({ ...row, ...ofRow }));
    sendTable(ctx, format, wanted.table, await wanted.named(flat), clocks);
    return null;
  },
);
