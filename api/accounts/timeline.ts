/** The time line of an account: what each table has of it, merged, newest first. */
import type { Catalogue } from "../../catalogue/view.js";
import type { Service } from "../../runtime/service.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { transactionId } from "../../schemas/ids.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { timeText } from "../events/evidence.js";
import { showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { readRecordedMovements } from "../recorded-movements/pages.js";
import { presentRecordedMovement } from "../recorded-movements/presenter.js";
import { PassingRows } from "../transactions/filter-selectivity.js";
import { readTransactions } from "../transactions/pages.js";
import { presentTransactionRow } from "../transactions/presenter.js";
import { type TimelineItem, type TimelineType, timelineItem } from "./schema.js";
import {
  type AccountChangeRow,
  type AccountEventRow,
  type MoneyBackRow,
  accountChangesQuery,
  accountEventsQuery,
  moneyBackQuery,
} from "./timeline-query.js";

/** Where a page ended: so many items of this moment were shown. */
export interface TimelinePosition {
  /** ms since 1970 */
  readonly at: number;
  readonly items: number;
}

export interface TimelineOf {
  readonly asOf: PinnedAsOf;
  readonly account: string;
  readonly catalogue: Catalogue;
  /** ISO 4217, of the workspace. */
  readonly currency: string;
}

/** @returns up to `limit` items, and where the next page begins; null at the end */
export async function readTimeline(
  service: Pick<Service, "clickhouse">,
  of: TimelineOf,
  after: TimelinePosition | null,
  limit: number,
): Promise<{ items: TimelineItem[]; last: TimelinePosition | null }> {
  const shown = after?.items ?? 0;
  // Of each source as many as the page could have of it, those of the moment it begins in again.
  const rowsMax = shown + limit + 1;
  const until = { ...of.asOf, at: after?.at ?? of.asOf.at };
  const wanted = { ...of, service, until, rowsMax };
  const sources = await Promise.all(
    [movements, changes, payments, moneyBack, events].map((read) => read(wanted)),
  );
  // The sort is stable: what happened at one moment stays in the order of its source.
  const all = sources
    .flat()
    .sort((one, other) => Date.parse(other.happened_at) - Date.parse(one.happened_at));
  const items = all.slice(shown, shown + limit);
  const last = items.at(-1);
  if (last === undefined || all.length <= shown + limit) return { items, last: null };
  const at = Date.parse(last.happened_at);
  const together = items.filter((item) => item.happened_at === last.happened_at).length;
  return { items, last: { at, items: together + (after?.at === at ? shown : 0) } };
}

interface Wanted extends TimelineOf {
  readonly service: Pick<Service, "clickhouse">;
  /** The end of the page's time: everything up to then, as known at `known_at`. */
  readonly until: PinnedAsOf;
  readonly rowsMax: number;
}

const nothing = {
  event_id: null,
  subscription: null,
  product_id: null,
  product_name: null,
  amount: null,
  currency: null,
} as const;

async function movements({
  service,
  account,
  catalogue,
  currency,
  until,
  rowsMax,
}: Wanted): Promise<TimelineItem[]> {
  const wanted = { account, cell: { condition: "true", params: {} } };
  const { clickhouse } = service;
  const { rows } = await readRecordedMovements(clickhouse, until, wanted, null, rowsMax);
  return rows
    .map((row) => presentRecordedMovement(row, catalogue, currency))
    .map(({ at, id, kind, event_id, subscription, product_id, product_name, mrr }) => ({
      happened_at: at,
      type: "movement",
      id,
      detail: kind,
      event_id,
      subscription,
      product_id,
      product_name,
      amount: mrr,
      currency,
    }));
}

async function changes({
  service,
  account,
  currency,
  until,
  rowsMax,
}: Wanted): Promise<TimelineItem[]> {
  const query = accountChangesQuery(until, account, rowsMax);
  const rows = await rowsOf<AccountChangeRow>(service, query);
  return rows.map(({ at_ms: at, change_id: id, phase, event_id, subscription, mrr }) => ({
    ...nothing,
    happened_at: timeText(at),
    type: "change",
    id,
    detail: phase,
    event_id,
    subscription,
    amount: showMrr(mrrOf(mrr), currency),
    currency,
  }));
}

async function payments({
  service,
  account,
  catalogue,
  asOf,
  until,
  rowsMax,
}: Wanted): Promise<TimelineItem[]> {
  // A status is shown as of `at`, on whichever page.
  const wanted = { account, to: until.at + 1, isPast: asOf.at < asOf.knownAt };
  const passing = new PassingRows();
  const { clickhouse } = service;
  const { rows } = await readTransactions(clickhouse, asOf, wanted, null, rowsMax, passing);
  return rows
    .map((row) => presentTransactionRow(row, catalogue))
    .map((row) => ({
      ...nothing,
      happened_at: row.timestamp,
      type: "payment",
      id: row.id,
      detail: row.status,
      product_id: row.product_id,
      product_name: row.product_name,
      // A refund of no known sale is money that went back.
      amount: row.type === "refund" ? -row.gross_amount : row.gross_amount,
      currency: row.original_currency,
    }));
}

async function moneyBack({ service, account, until, rowsMax }: Wanted): Promise<TimelineItem[]> {
  const rows = await rowsOf<MoneyBackRow>(service, moneyBackQuery(until, account, rowsMax));
  const { workspace, environment } = until;
  return rows.map(({ at_ms: at, kind, entry, provider, payment, event_id, currency, amount }) => ({
    ...nothing,
    happened_at: timeText(at),
    type: typeOf(kind),
    id: entry,
    detail: transactionId(workspace, environment, provider, payment.slice(provider.length + 1)),
    event_id,
    amount: toJsonNumber(BigInt(amount), knownExponentOf(currency)),
    currency,
  }));
}

async function events({ service, account, until, rowsMax }: Wanted): Promise<TimelineItem[]> {
  const rows = await rowsOf<AccountEventRow>(service, accountEventsQuery(until, account, rowsMax));
  return rows.map(({ at_ms: at, event_id: id, native_type: detail }) => ({
    ...nothing,
    happened_at: timeText(at),
    type: "event",
    id,
    detail,
    event_id: id,
  }));
}

/** The tables hold it as text of few words; anything else is our own mistake. */
function typeOf(kind: string): TimelineType {
  return timelineItem.shape.type.parse(kind);
}
