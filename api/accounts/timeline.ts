/** The timeline of an account, merged from its tables, newest first. */
import type { Service } from "../../service.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import { transactionId } from "../../schemas/ids.js";
import { timeText } from "../events/evidence.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { PassingRows } from "../transactions/filter-selectivity.js";
import { readTransactions } from "../transactions/pages.js";
import { presentTransactionRow } from "../transactions/presenter.js";
import { type TimelineItem, type TimelineType, timelineItem } from "./schema.js";
import { type MomentOf, nothing, presentMoment } from "./timeline-moments.js";
import {
  type AccountCountryRow,
  type AccountMomentRow,
  type FirstEventRow,
  type MoneyBackRow,
  accountCountryQuery,
  accountMomentsQuery,
  firstEventsQuery,
  moneyBackQuery,
} from "./timeline-query.js";

/** Where a page ended: so many items of this moment were shown. */
export interface TimelinePosition {
  /** ms since 1970 */
  readonly at: number;
  readonly items: number;
}

export interface TimelineOf extends MomentOf {
  readonly asOf: PinnedAsOf;
  readonly account: string;
}

/** @returns up to `limit` items, and where the next page begins; null at the end */
export async function readTimeline(
  service: Pick<Service, "clickhouse">,
  of: TimelineOf,
  after: TimelinePosition | null,
  limit: number,
): Promise<{ items: TimelineItem[]; last: TimelinePosition | null }> {
  const shown = after?.items ?? 0;
  // From each source as many as the page could need, beginning again with its first moment.
  const rowsMax = shown + limit + 1;
  const until = { ...of.asOf, at: after?.at ?? of.asOf.at };
  const wanted = { ...of, service, until, rowsMax };
  const sources = await Promise.all(
    [moments, payments, moneyBack, country].map((read) => read(wanted)),
  );
  const all = sources.flat().sort(newestFirst);
  const items = all.slice(shown, shown + limit);
  const last = items.at(-1);
  if (last === undefined || all.length <= shown + limit) return { items, last: null };
  const at = Date.parse(last.happened_at);
  const together = items.filter((item) => item.happened_at === last.happened_at).length;
  return { items, last: { at, items: together + (after?.at === at ? shown : 0) } };
}

interface Wanted extends TimelineOf {
  readonly service: Pick<Service, "clickhouse">;
  /** The page has everything up to then, as known at `known_at`. */
  readonly until: PinnedAsOf;
  readonly rowsMax: number;
}

async function moments(wanted: Wanted): Promise<TimelineItem[]> {
  const { service, account, until, rowsMax } = wanted;
  const query = accountMomentsQuery(until, account, rowsMax);
  const rows = await rowsOf<AccountMomentRow>(service, query);
  return rows.flatMap((row) => presentMoment(row, wanted));
}

async function payments({
  service,
  account,
  catalogue,
  asOf,
  until,
  rowsMax,
}: Wanted): Promise<TimelineItem[]> {
  // A status is shown as of `at`, on every page.
  const wanted = { account, to: until.at + 1, isPast: asOf.at < asOf.knownAt };
  const passing = new PassingRows();
  const { clickhouse } = service;
  const { rows } = await readTransactions(clickhouse, asOf, wanted, null, rowsMax, passing);
  const shown = rows.map((row) => presentTransactionRow(row, catalogue));
  const found =
    shown.length === 0 ? [] : await rowsOf<FirstEventRow>(service, firstEventsQuery(asOf, shown));
  const events = new Map(found.map(({ id, event_id: event }) => [id, event]));
  return shown.map((row) => ({
    ...nothing,
    happened_at: row.timestamp,
    id: row.id,
    event_id: events.get(row.id) ?? null,
    product_id: row.product_id,
    product_name: row.product_name,
    currency: row.original_currency,
    // A refund of no known sale is returned money.
    ...(row.type === "refund"
      ? { type: "refund", detail: row.id, amount: -row.gross_amount }
      : { type: "payment", detail: row.status, amount: row.gross_amount }),
  }));
}

async function moneyBack(wanted: Wanted): Promise<TimelineItem[]> {
  const { service, account, until, rowsMax, catalogue } = wanted;
  const rows = await rowsOf<MoneyBackRow>(service, moneyBackQuery(until, account, rowsMax));
  const { workspace, environment } = until;
  return rows.map((row) => {
    const { provider, payment, currency } = row;
    const product = catalogue.productOf({ provider, externalId: row.external_id });
    return {
      ...nothing,
      happened_at: timeText(row.at_ms),
      type: typeOf(row.kind),
      id: row.entry,
      detail: transactionId(workspace, environment, provider, payment.slice(provider.length + 1)),
      event_id: row.event_id,
      product_id: product.id,
      product_name: product.name,
      amount: toJsonNumber(BigInt(row.amount), knownExponentOf(currency)),
      currency,
    };
  });
}

/** A country that becomes known within an hour of the start is part of the start. */
const countryNewsMs = 60 * 60 * 1000;

async function country({ service, account, until }: Wanted): Promise<TimelineItem[]> {
  const rows = await rowsOf<AccountCountryRow>(service, accountCountryQuery(until, account));
  return rows
    .map((row) => ({ ...row, at: Number(row.at_ms), firstMovedAt: Number(row.first_moved_at_ms) }))
    .filter(({ at, firstMovedAt }) => firstMovedAt > 0 && at - firstMovedAt >= countryNewsMs)
    .filter(({ at }) => at <= until.at)
    .map((row) => ({
      ...nothing,
      happened_at: timeText(row.at_ms),
      type: "country",
      id: row.change_id,
      detail: row.country,
      event_id: row.event_id,
    }));
}

/** Newest first; of one moment: what ended, then money, then changes, then what started. */
function newestFirst(one: TimelineItem, other: TimelineItem): number {
  return Date.parse(other.happened_at) - Date.parse(one.happened_at) || rank(other) - rank(one);
}

function rank({ type, detail }: TimelineItem): number {
  if (type === "country") return 0;
  if (["new", "reactivation", "started"].includes(detail)) return 1;
  if (type === "payment") return 3;
  if (type === "movement") return detail === "churn" ? 5 : 2;
  return type === "change" ? 5 : 4;
}

/** The tables hold one of a few words; anything else is our own mistake. */
function typeOf(kind: string): TimelineType {
  return timelineItem.shape.type.parse(kind);
}
