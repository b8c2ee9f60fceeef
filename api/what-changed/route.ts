/** `GET /v1/metrics/mrr/what-changed`. */
import { unprocessable } from "../../schemas/http/errors.js";
import { customersTable, withCustomers } from "../customers/names.js";
import { tables } from "../exports/tables.js";
import { sendTable } from "../exports/send.js";
import { checkKnownAt } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { amountsByKind, balanceOf, type Sums, sumsOf } from "../reading/movement-sums.js";
import { checkRange, clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { type MovementKindRow, movementKindsQuery } from "../summary/movement-kinds.js";
import { whatChangedQuery, type WhatChangedSum } from "./query.js";
import {
  rowsOf as rowsWanted,
  whatChangedAnswer,
  type WhatChangedAnswer,
  type WhatChangedGroup,
  whatChangedQueryParameters,
  type WhatChangedRow,
} from "./schema.js";
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { grouped } from "../../runtime/lists.js";
import { knownExponentOf, powerOfTen, toJsonNumber } from "../../schemas/money/money.js";
import { mrrOf, mrrPlaces } from "../../schemas/money/monthly.js";
import { movementKinds } from "../../schemas/records/records.js";
import { apportioned, mrrMinor } from "../reading/amounts.js";
import { groupKey, memberFields } from "../reading/groups.js";

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

interface Change {
  readonly name: Omit<WhatChangedRow, "difference" | "kinds" | "movements">;
  /** Millionths, in the order of `movementKinds`. */
  readonly kinds: readonly bigint[];
  readonly movements: number;
}

/** @returns the largest first; SKUs of one product are one */
function changesOf(
  rows: readonly WhatChangedSum[],
  by: WhatChangedGroup,
  catalogue: Catalogue,
): Change[] {
  const named = rows.map((row) => ({ row, name: nameOf(row, by, catalogue) }));
  const changes = Array.from(
    grouped(named, ({ name: { account, ...name } }) => account ?? groupKey(name)).values(),
    (some) => ({
      name: some[0]?.name ?? {},
      kinds: movementKinds.map((kind) =>
        some.reduce((sum, { row }) => sum + mrrOf(row[`${kind}_mrr`]), 0n),
      ),
      movements: some.reduce((sum, { row }) => sum + Number(row.movements), 0),
    }),
  );
  return changes.toSorted((one, other) => Number(sizeOf(other) - sizeOf(one)));
}

function nameOf(row: WhatChangedSum, by: WhatChangedGroup, catalogue: Catalogue): Change["name"] {
  const { member, provider } = row;
  if (by !== "account") return memberFields(member, by, catalogue);
  return { account: member, ...memberFields(provider, "provider", catalogue) };
}

function sizeOf({ kinds }: Change): bigint {
  const net = sumOf(kinds);
  return net < 0n ? -net : net;
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

/**
 * @param then all movements before `from`, `now` all before `to`
 * @param changes the shown ones of `groups`
 */
function presentWhatChanged(
  { from, to }: { readonly from: number; readonly to: number },
  then: Sums,
  now: Sums,
  changes: readonly Change[],
  groups: number,
  currency: string,
): WhatChangedAnswer["data"] {
  const exponent = knownExponentOf(currency);
  const unit = powerOfTen(mrrPlaces - exponent);
  const [before, after] = [balanceOf(then).mrr, balanceOf(now).mrr];
  const total = mrrMinor(after, currency) - mrrMinor(before, currency);
  const exact = movementKinds.map(
    (kind) => (now.get(kind)?.mrr ?? 0n) - (then.get(kind)?.mrr ?? 0n),
  );
  const nets = changes.map(({ kinds }) => sumOf(kinds));
  // The rest belongs to the others, whose movements are not read one by one.
  const shares = apportioned(total, [...nets, after - before - sumOf(nets)], unit);
  const money = (minor: bigint) => toJsonNumber(minor, exponent);
  const kindsOf = (net: bigint, parts: readonly bigint[]) =>
    amountsByKind(apportioned(net, parts, unit), money);
  return {
    currency,
    from: { at: new Date(from).toISOString(), mrr: money(mrrMinor(before, currency)) },
    to: { at: new Date(to).toISOString(), mrr: money(mrrMinor(after, currency)) },
    difference: money(total),
    kinds: kindsOf(total, exact),
    rows: changes.map(({ name, kinds, movements }, index) => {
      const net = shares[index] ?? 0n;
      return { ...name, difference: money(net), kinds: kindsOf(net, kinds), movements };
    }),
    others: { count: groups - changes.length, difference: money(shares.at(-1) ?? 0n) },
  };
}
