/** `GET /v1/metrics/mrr/what-changed`. */
import { unprocessable } from "../../schemas/http/errors.js";
import {
  rowsWithCustomers,
  seesCustomers,
  tableWithCustomers,
  withCustomers,
} from "../customers/names.js";
import { tables } from "../exports/tables.js";
import { sendTable } from "../exports/send.js";
import { checkKnownAt } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { sumsOf } from "../reading/movement-sums.js";
import { checkRange, clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { type ReadApi, readRoute } from "../reading/routes.js";
import { type MovementKindRow, movementKindsQuery } from "../summary/movement-kinds.js";
import { changesOf, presentWhatChanged } from "./presenter.js";
import { type WhatChangedSum, whatChangedQuery } from "./query.js";
import { type WhatChangedRow, rowsOf as rowsWanted, whatChangedQueryParameters } from "./schema.js";

export function whatChangedRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/mrr/what-changed";
  readRoute(api, path, whatChangedQueryParameters, async (asked) => {
    const { ctx, access, query, format } = asked;
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
    const isOfAccounts = by === "account";
    if (format === null) {
      const accountOf = ({ account }: WhatChangedRow) => account;
      const named = isOfAccounts
        ? await withCustomers(api.customers, asked, data.rows, accountOf)
        : data.rows;
      return { data: { ...data, rows: named }, complete_to: completeText(clocks) };
    }
    const flat = data.rows.map(({ kinds: ofRow, ...row }) => ({ ...row, ...ofRow }));
    if (!isOfAccounts || !seesCustomers(asked)) {
      sendTable(ctx, format, tables.whatChanged, flat, clocks);
      return null;
    }
    const whole = await rowsWithCustomers(api.customers, asked, flat, ({ account }) => account);
    sendTable(ctx, format, tableWithCustomers(tables.whatChanged), whole, clocks);
    return null;
  });
}
