/**
 * ChartMogul's export of a source (Data Platform > Export CSV): payments and refunds as they were
 * made, and the MRR of subscriptions whose invoices leave no doubt. Its columns and their sources:
 * docs/import.md.
 */
import { alpha2OfName, isCountry } from "../../../schemas/countries.js";
import { billingPeriodBetween } from "../../../schemas/money/billing-periods.js";
import { exponentOf, minorToMajor } from "../../../schemas/money/money.js";
import type { BillingPeriod } from "../../../schemas/money/monthly.js";
import { grouped } from "../../../runtime/lists.js";
import { centsOf, type Dataset, type LeftOut, type Line, type Tables, timeOf } from "./tables.js";
import type { ExportedEvents, ExportFormat } from "./format.js";

const datasets = {
  "MRR movements": {
    columns: ["mrr movement"],
    refused:
      "it says how MRR changed and not what was paid. Payments are in the datasets " +
      "Transactions, Invoices and Invoice line items of the Data Platform.",
  },
  "subscription events": {
    columns: ["subscription external id", "event type", "effective date"],
  },
  "invoice line items": {
    columns: ["invoice external id", "subscription external id", "type", "amount in cents"],
  },
  transactions: { columns: ["invoice external id", "type", "result", "date"] },
  invoices: {
    columns: ["customer external id", "invoice external id", "invoiced date", "currency"],
  },
  cancellations: { columns: ["subscription external id", "customer external id", "date"] },
  customers: { columns: ["name", "email", "external id"] },
  plans: { columns: ["name", "interval count", "interval unit", "plan id"] },
} satisfies Readonly<Record<string, Dataset>>;
type Name = keyof typeof datasets;

export const chartMogul: ExportFormat<Name> = {
  datasets,
  required: ["transactions", "invoices", "invoice line items"],
  missing: [
    "Taxes and fees of a payment: amounts are what the customer was charged.",
    "MRR of subscriptions that share an invoice, are taxed, have no service period, or whose end " +
      "no file of cancellations or subscription events could tell: only their payments are read.",
    "When a payment was disputed; which of several payments of one invoice was refunded.",
    "Invoices that nobody paid, and payments that failed.",
  ],
  events: eventsOf,
};

interface Invoice {
  readonly customer: string;
  readonly currency: string;
  readonly items: readonly Item[];
  readonly total: bigint;
}

interface Item {
  readonly cents: bigint;
  /** Null: it is none of a subscription. */
  readonly subscription: string | null;
  readonly plan: string | null;
  readonly isTaxed: boolean;
  readonly isProrated: boolean;
  /** Null: its service period is missing. */
  readonly period: BillingPeriod | null;
}

interface Transaction {
  readonly line: number;
  readonly invoice: string;
  readonly isRefund: boolean;
  readonly id: string;
  readonly at: string;
  /** Null: the whole invoice. */
  readonly cents: bigint | null;
}

function eventsOf(tables: Tables<Name>, leftOut: LeftOut): ExportedEvents {
  const invoices = invoicesIn(tables, leftOut);
  const ends = endsIn(tables);
  const sure = sureSubscriptions(invoices, ends);
  const known = { customers: customersIn(tables), plans: plansIn(tables), invoices, sure };
  const byInvoice = grouped(transactionsIn(tables, leftOut), ({ invoice }) => invoice);
  const booked = [...byInvoice].flatMap(([id, all]) => acceptedOf(id, all, invoices, leftOut));
  booked.sort((one, other) => (one.of.at < other.of.at ? -1 : Number(one.of.at > other.of.at)));
  const prices = new Map<string, string>();
  const events = booked.map((payment) => cellsOf(payment, known, prices));
  for (const [subscription, { at, customer }] of ends ?? []) {
    const price = prices.get(subscription);
    if (price === undefined || at === null) continue;
    events.push({
      event_type: "subscription.churn",
      event_id: `chartmogul:end:${subscription}:${at}`,
      amount: "0",
      currency: price.slice(0, currencyLength),
      occurred_at: at,
      subscription_id: subscription,
      customer_id: customer,
    });
  }
  const subscriptions = new Set(itemsOf(invoices).flatMap(({ subscription: id }) => id ?? []));
  const notes = [`  MRR of ${sure.size} of ${subscriptions.size} subscriptions is read`];
  return { events, notes };
}

const currencyLength = 3;

function itemsOf(invoices: ReadonlyMap<string, Invoice>): Item[] {
  return [...invoices.values()].flatMap(({ items }) => items);
}

function invoicesIn(tables: Tables<Name>, leftOut: LeftOut): ReadonlyMap<string, Invoice> {
  const lines = grouped(tables.get("invoice line items") ?? [], ({ cells }) =>
    cells.get("invoice external id"),
  );
  const invoices = new Map<string, Invoice>();
  for (const { line, cells } of tables.get("invoices") ?? []) {
    const [id, customer] = [cells.get("invoice external id"), cells.get("customer external id")];
    const currency = cells.get("currency")?.toUpperCase() ?? "";
    const items = (lines.get(id) ?? []).map(itemOf);
    const wrong = [
      [id === undefined || customer === undefined, "an invoice without its id or customer"],
      [invoices.has(id ?? ""), "an invoice with the id of another one"],
      // What "cents" are of a currency that has none is documented nowhere.
      [exponentOf(currency) !== 2, `an invoice in ${currency}, which has no cents`],
      [items.length === 0, "an invoice without line items"],
      [items.includes(null), "an invoice with a line item that cannot be read"],
    ] as const;
    const why = wrong.find(([is]) => is)?.[1];
    if (why !== undefined) {
      leftOut.add(`${why} (of the invoices)`, line);
      continue;
    }
    const read = items.filter((item) => item !== null);
    const total = read.reduce((sum, { cents }) => sum + cents, 0n);
    invoices.set(id ?? "", { customer: customer ?? "", currency, items: read, total });
  }
  return invoices;
}

function itemOf({ cells }: Line): Item | null {
  const cents = centsOf(cells.get("amount in cents"));
  const tax = cells.get("tax amount") ?? cells.get("tax amount in cents") ?? "0";
  if (cents === null) return null;
  const isSubscription = cells.get("type")?.toLowerCase() === "subscription";
  const start = timeOf(cells.get("service period start"));
  const end = timeOf(cells.get("service period end"));
  const hasPeriod = start !== null && end !== null;
  return {
    cents,
    subscription: isSubscription ? (cells.get("subscription external id") ?? null) : null,
    plan: cells.get("plan") ?? cells.get("plan external id") ?? null,
    isTaxed: !/^0*(\.0*)?$/.test(tax),
    isProrated: /^(true|t|yes|1)$/i.test(cells.get("proration") ?? cells.get("prorated") ?? ""),
    period: hasPeriod ? billingPeriodBetween(Date.parse(start), Date.parse(end)) : null,
  };
}

interface End {
  /** Null: it is not known which of several counts. */
  readonly at: string | null;
  readonly customer: string;
}

/** By subscription. Null: no file says so of any. */
function endsIn(tables: Tables<Name>): ReadonlyMap<string, End> | null {
  const [cancelled, events] = [tables.get("cancellations"), tables.get("subscription events")];
  if (cancelled === undefined && events === undefined) return null;
  const ends = new Map<string, End>();
  const end = ({ cells }: Line, at: string | null): void => {
    const id = cells.get("subscription external id");
    const customer = cells.get("customer external id") ?? "";
    const isOther = ends.has(id ?? "") && ends.get(id ?? "")?.at !== at;
    if (id !== undefined) ends.set(id, { at: isOther ? null : at, customer });
  };
  for (const line of cancelled ?? []) end(line, timeOf(line.cells.get("date")));
  for (const line of events ?? []) {
    const type = line.cells.get("event type")?.toLowerCase() ?? "";
    if (type === "subscription_cancelled") end(line, timeOf(line.cells.get("effective date")));
    // A planned end that was perhaps taken back, or an event that was.
    else if (/cancellation|retracted/.test(type)) end(line, null);
  }
  return ends;
}

/** Those of which every invoice says what they cost, and whose end would be known. */
function sureSubscriptions(
  invoices: ReadonlyMap<string, Invoice>,
  ends: ReadonlyMap<string, End> | null,
): ReadonlySet<string> {
  const customers = new Map<string, string>();
  const unsure = new Set<string>();
  for (const { customer, items } of invoices.values()) {
    const paid = items.filter(({ cents }) => cents !== 0n);
    for (const { subscription, isTaxed, period } of paid) {
      if (subscription === null) continue;
      const isOthers = (customers.get(subscription) ?? customer) !== customer;
      customers.set(subscription, customer);
      if (paid.length > 1 || isTaxed || period === null || isOthers) unsure.add(subscription);
    }
  }
  const isSure = (id: string): boolean =>
    ends !== null && !unsure.has(id) && ends.get(id)?.at !== null;
  return new Set([...customers.keys()].filter(isSure));
}

function transactionsIn(tables: Tables<Name>, leftOut: LeftOut): Transaction[] {
  return (tables.get("transactions") ?? []).flatMap(({ line, cells }) => {
    const invoice = cells.get("invoice external id");
    const [type, result] = [cells.get("type")?.toLowerCase(), cells.get("result")?.toLowerCase()];
    const at = timeOf(cells.get("date"));
    const given = cells.get("amount in cents");
    const cents = given === undefined ? null : centsOf(given);
    const wrong = [
      [result !== "successful", "its Result is not successful"],
      [type !== "payment" && type !== "refund", "its Type is neither payment nor refund"],
      [at === null, "its Date is no day or time in UTC, like 2026-03-01 10:00:00"],
      [given !== undefined && (cents === null || cents <= 0n), "its Amount is no count of cents"],
    ] as const;
    const why = wrong.find(([is]) => is)?.[1];
    if (why !== undefined) leftOut.add(why, line);
    if (why !== undefined || invoice === undefined || at === null) return [];
    const id = cells.get("external id") ?? `${at}:${cents ?? ""}`;
    return [{ line, invoice, isRefund: type === "refund", id, at, cents }];
  });
}

interface Booked {
  readonly of: Transaction;
  readonly cents: bigint;
  /** Of a refund: the payment, if there is only one. Of a payment: its own. */
  readonly payment: string | null;
  readonly isWhole: boolean;
}

/** Of one invoice: never more than it comes to, nor more given back than was paid. */
function acceptedOf(
  id: string,
  all: readonly Transaction[],
  invoices: ReadonlyMap<string, Invoice>,
  leftOut: LeftOut,
): Booked[] {
  const invoice = invoices.get(id);
  if (invoice === undefined || invoice.total <= 0n) {
    const why = invoice === undefined ? "its invoice is not read" : "its invoice comes to nothing";
    for (const { line } of all) leftOut.add(why, line);
    return [];
  }
  const booked: Booked[] = [];
  const payments: string[] = [];
  let paid = 0n;
  for (const of of all.toSorted((one, other) => (one.at < other.at ? -1 : 1))) {
    const cents = of.cents ?? invoice.total;
    const after = of.isRefund ? paid - cents : paid + cents;
    if (after < 0n || after > invoice.total) {
      leftOut.add(
        of.isRefund
          ? "it refunds more than was paid of its invoice"
          : "with it more is paid than the line items of its invoice come to",
        of.line,
      );
      continue;
    }
    paid = after;
    const name = `chartmogul:${id}:${of.id}`;
    if (!of.isRefund) payments.push(name);
    const payment = of.isRefund && payments.length > 1 ? null : (payments[0] ?? null);
    const isWhole = cents === invoice.total && payments.length === 1;
    booked.push({ of, cents, payment: of.isRefund ? payment : name, isWhole });
  }
  return booked;
}

interface Known {
  readonly invoices: ReadonlyMap<string, Invoice>;
  readonly sure: ReadonlySet<string>;
  readonly plans: ReadonlyMap<string, string>;
  readonly customers: ReadonlyMap<string, Readonly<Record<string, string | undefined>>>;
}

/** @param prices by subscription, what it costs so far */
function cellsOf(
  { of, cents, payment, isWhole }: Booked,
  { invoices, sure, plans, customers }: Known,
  prices: Map<string, string>,
): Readonly<Record<string, string | undefined>> {
  const invoice = invoices.get(of.invoice);
  if (invoice === undefined) throw new Error("a payment of no invoice");
  const { customer, currency, items } = invoice;
  const common = {
    event_id: `chartmogul:${of.isRefund ? "refund" : "payment"}:${of.invoice}:${of.id}`,
    amount: minorToMajor(cents, 2),
    currency,
    occurred_at: of.at,
    customer_id: customer,
    transaction_id: payment ?? undefined,
  };
  if (of.isRefund) return { ...common, event_type: "transaction.refund" };
  const paid = items.filter((item) => item.cents !== 0n);
  const [item] = paid;
  const only = paid.length === 1 ? item : undefined;
  const sale = {
    ...common,
    ...customers.get(customer),
    product_id: only?.plan ?? undefined,
    product_name: plans.get(only?.plan ?? ""),
    event_type: "transaction.sale",
  };
  const { subscription = null, period = null, isProrated } = only ?? {};
  if (subscription === null || period === null || !sure.has(subscription)) return sale;
  const ofSubscription = { ...sale, subscription_id: subscription };
  const { interval, intervalCount } = period;
  const price = `${currency} ${cents} ${intervalCount} ${interval}`;
  // A part of a period, or of a price, is not what a whole one costs.
  if (isProrated === true || !isWhole || prices.get(subscription) === price) return ofSubscription;
  prices.set(subscription, price);
  return {
    ...ofSubscription,
    event_type: "subscription.new",
    interval,
    interval_count: String(intervalCount),
  };
}

function plansIn(tables: Tables<Name>): ReadonlyMap<string, string> {
  const named = (tables.get("plans") ?? []).map(
    ({ cells }) => [cells.get("plan id") ?? "", cells.get("name") ?? ""] as const,
  );
  return new Map(named.filter(([, name]) => name !== ""));
}

function customersIn(tables: Tables<Name>): Known["customers"] {
  return new Map(
    (tables.get("customers") ?? []).map(({ cells }) => {
      const country = cells.get("country") ?? "";
      const code = isCountry(country.toUpperCase()) ? country.toUpperCase() : alpha2OfName(country);
      return [
        cells.get("external id") ?? "",
        {
          customer_name: cells.get("company") ?? cells.get("name"),
          customer_email: cells.get("email"),
          customer_country: code ?? undefined,
        },
      ];
    }),
  );
}
