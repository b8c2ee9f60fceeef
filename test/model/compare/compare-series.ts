/** Holds the figures over time against the reference model. */
import { providerTokens } from "../../../schemas/provider-tokens.js";
import { type Interval, dayMs, startOfDay } from "../calendar.js";
import type { Figures, LongInterval, Time } from "../figures.js";
import { at as field, list, must, number, text } from "../readers/json.js";
import { expectLines } from "./lines.js";
import { type Merchant, read, readPages } from "../merchant.js";
import type { Entry } from "../money.js";
import { type BridgeRow, type Cell, type RevenueRow, holdsAnything, kinds } from "../series.js";

type Query = Readonly<Record<string, string>>;

/**
 * Which intervals, groups and cells are asked for turns with the moment: all of them would be
 * hundreds of questions for each portfolio.
 */
export async function expectSeries(
  merchant: Merchant,
  figures: Figures,
  at: number,
  clocks: Query,
): Promise<void> {
  const turn = Math.floor(at / 1000) + figures.transactions(at).length;
  const provider = providerOf(figures, turn, at);
  const time = timeOf(turn, at);
  const days = {
    interval: time.interval,
    from: new Date(time.from).toISOString().slice(0, 10),
    to: new Date(time.to).toISOString().slice(0, 10),
  };
  const asking = { merchant, figures, turn, provider, time, at, query: { ...clocks, ...days } };
  await Promise.all([
    expectBridge(asking),
    expectRevenue(asking),
    expectSummary({ ...asking, query: clocks }),
    expectRates(asking),
    expectRetention({ ...asking, query: clocks }),
  ]);
}

interface Asking {
  readonly merchant: Merchant;
  readonly figures: Figures;
  readonly turn: number;
  readonly provider: string;
  readonly time: Time;
  readonly at: number;
  readonly query: Query;
}

/** One of those whose customers pay, or Stripe whether or not they do. */
function providerOf(figures: Figures, turn: number, at: number): string {
  const paid = Object.keys(figures.mrr(at).breakdown_by_provider);
  return pick([...paid, "stripe"], Math.floor(turn / 2));
}

const lengths: readonly (readonly [interval: Interval, days: number])[] = [
  ["month", 4 * 366],
  ["day", 40],
  ["week", 200],
  ["quarter", 3 * 366],
  ["year", 4 * 366],
];

/** It ends with the day of `at`, or some days before. */
function timeOf(turn: number, at: number): Time {
  const [interval, days] = pick(lengths, turn);
  const to = startOfDay(at) + dayMs - (turn % 3) * 7 * dayMs;
  return { interval, from: to - days * dayMs, to };
}

function pick<T>(values: readonly [T, ...T[]] | readonly T[], turn: number): T {
  return must(values[turn % values.length], "a choice");
}

async function expectBridge(asking: Asking): Promise<void> {
  const { merchant, figures, turn, provider, time, at, query } = asking;
  if (turn % 3 === 1) return expectBridgeGroups(asking);
  const { asked, cell } = await cellOf(merchant, turn, provider);
  const answer = await read(merchant, "/v1/metrics/mrr/movements", { ...query, ...asked });
  const rows = [...list(answer, "data", "movements"), field(answer, "data", "totals")];
  expectLines(
    `movements ${JSON.stringify({ ...query, ...asked })}`,
    rows.map(shownBridge),
    figures.bridge(cell, time, at),
  );
}

/** Every group that holds anything is shown, as the cell of its filter is. */
async function expectBridgeGroups(asking: Asking): Promise<void> {
  const { merchant, figures, turn, time, at, query } = asking;
  const group = pick(cellGroups, Math.floor(turn / 3));
  const asked = { ...query, group_by: group.name };
  const rows = list(await read(merchant, "/v1/metrics/mrr/movements", asked), "data", "movements");
  const shown = rows
    .map((row) => ({ value: text(row, group.field), row: shownBridge(row) }))
    .filter(({ row }) => isMoving(row));
  const values = new Set([...group.values, ...rows.map((row) => text(row, group.field) ?? "")]);
  const expected = [...values].flatMap((value) =>
    figures
      .bridge({ [group.name]: value }, time, at)
      .slice(0, -1)
      .filter(isMoving)
      .map((row) => ({ value, row })),
  );
  expectLines(`movements ${JSON.stringify(asked)}`, shown, expected);
}

/** What is less than a minor unit is shown as nothing. */
function isMoving({ start, moved, end }: BridgeRow): boolean {
  return [start, ...moved, end].some((amount) => amount !== 0);
}

const cellGroups = [
  { name: "provider", field: "provider", values: providerTokens },
  { name: "currency", field: "original_currency", values: ["USD", "EUR", "GBP", "JPY", "INR"] },
  { name: "country", field: "country", values: ["ZZ", "DE", "US", "JP"] },
] as const;

function shownBridge(row: unknown): BridgeRow {
  const names = ["start", "new", "churned", "reactivated", "end"];
  const accounts = names.map((name) => number(row, `${name}_accounts`));
  return {
    days: daysText(row),
    start: number(row, "start_mrr") ?? NaN,
    moved: kinds.map((kind) => number(row, `${kind}_mrr`) ?? NaN),
    end: number(row, "end_mrr") ?? NaN,
    accounts: accounts.every((count) => count !== null) ? accounts : null,
  };
}

interface Part {
  readonly asked: Query;
  readonly cell: Cell;
}

/** Every second time the whole, else one part of it. */
async function cellOf(merchant: Merchant, turn: number, provider: string): Promise<Part> {
  const choice = Math.floor(turn / 2);
  const simple: readonly Cell[] = [
    { provider },
    { currency: pick(["USD", "EUR", "GBP", "JPY", "INR"], choice) },
    { country: pick(["ZZ", "DE", "US", "JP"], choice) },
    { currency: "USD", provider },
  ];
  if (turn % 2 === 0) return { asked: {}, cell: {} };
  if (choice % 5 > 0) {
    const cell = pick(simple, choice);
    const asked = Object.entries(cell).filter((entry): entry is [string, string] => {
      return typeof entry[1] === "string";
    });
    return { asked: Object.fromEntries(asked), cell };
  }
  return productCell(merchant, choice);
}

/** The whole while there is no product. */
async function productCell(merchant: Merchant, choice: number): Promise<Part> {
  const products = await readPages(merchant, "/v1/products", { period: "lifetime" });
  if (products.length === 0) return { asked: {}, cell: {} };
  const product = pick(products, choice);
  const skus = list(product, "providers").map(
    (entry) => `${text(entry, "provider")}/${text(entry, "external_id")}`,
  );
  // Of what belongs to no product all providers have some; the list reports those that sold it.
  const isUnattributed = text(product, "name") === "Unattributed";
  const ofAll = providerTokens.map((token) => `${token}/`);
  return {
    asked: { product: must(text(product, "id"), "a product id") },
    cell: { skus: isUnattributed ? ofAll : skus },
  };
}

async function expectRevenue(asking: Asking): Promise<void> {
  const { merchant, figures, turn, provider, time, at, query } = asking;
  const group = pick(groups, turn);
  const part = await cellOf(merchant, Math.floor(turn / 3), provider);
  const by = group.name === null ? {} : { group_by: group.name };
  const asked = { ...query, ...part.asked, ...by };
  const answer = await read(merchant, "/v1/metrics/revenue", asked);
  const rows = list(answer, "data", "revenue").map((row) => shownRevenue(row, group.field));
  const totals = { ...shownRevenue(field(answer, "data", "totals"), null), group: "whole" };
  const expected = figures
    .revenue((entry) => group.keyOf(entry, figures.names), part.cell, time, at)
    .map((row) => ({ ...row, group: row.group.replace(/^.*\//, "").toLowerCase() }));
  expectLines(
    `revenue ${JSON.stringify(asked)}`,
    [...rows, totals].filter(holdsAnything),
    expected,
  );
}

interface Group {
  readonly name: string | null;
  readonly field: string | null;
  /** What stands before a slash reports groups of one name apart. */
  keyOf(entry: Entry, names: ReadonlyMap<string, string>): string;
}

const groups: readonly Group[] = [
  { name: null, field: null, keyOf: () => "" },
  { name: "provider", field: "provider", keyOf: ({ provider }) => provider },
  { name: "currency", field: "original_currency", keyOf: ({ currency }) => currency },
  { name: "country", field: "country", keyOf: ({ country }) => country },
  {
    name: "product",
    field: "product_name",
    keyOf: ({ provider, sku }, names) => {
      const key = `${provider}/${sku}`;
      return sku === "" ? "unattributed" : (names.get(key)?.toLowerCase() ?? key);
    },
  },
];

function shownRevenue(row: unknown, group: string | null): RevenueRow {
  const of = (name: string) => number(row, name) ?? NaN;
  return {
    days: daysText(row),
    group: group === null ? "" : (text(row, group)?.toLowerCase() ?? ""),
    gross: of("gross"),
    refunds: of("refunds"),
    disputes: of("disputes"),
    revenue: of("revenue"),
    tax: of("tax"),
    net: of("net"),
    sales: of("sales"),
  };
}

async function expectSummary(asking: Asking): Promise<void> {
  const { merchant, figures, turn, at, query } = asking;
  const provider = turn % 3 === 0 ? undefined : asking.provider;
  const asked = { ...query, ...(provider === undefined ? {} : { provider }) };
  const answer = await read(merchant, "/v1/metrics/summary", asked);
  const shown = without(field(answer, "data"), "currency", "since", "until");
  expectLines(`summary ${JSON.stringify(asked)}`, [shown], [figures.summary(provider, at)]);
}

async function expectRates(asking: Asking): Promise<void> {
  const { merchant, figures, turn, provider, time, at, query } = asking;
  const { asked: part, cell } = await cellOf(merchant, turn, provider);
  const { interval: _none, ...days } = query;
  const asked = { ...days, ...part };
  const answer = await read(merchant, "/v1/metrics/rates", asked);
  expectLines(
    `rates ${JSON.stringify(asked)}`,
    [
      without(field(answer, "data"), "currency", "since", "until", "series"),
      ...list(answer, "data", "series").map((row) => without(row, "until")),
    ],
    figures.rates(cell, time, at),
  );
}

function without(row: unknown, ...names: readonly string[]): object {
  const fields = Object.entries(Object(row));
  return Object.fromEntries(fields.filter(([name]) => !names.includes(name)));
}

/** Of the whole, of a provider or of a product. */
async function expectRetention(asking: Asking): Promise<void> {
  const { merchant, figures, turn, provider, at, query } = asking;
  const interval = pick<LongInterval>(["month", "quarter", "year"], turn);
  const part = pick(["whole", "provider", "product"] as const, Math.floor(turn / 3));
  const simple: Query = part === "provider" ? { provider } : {};
  const { asked: of, cell } =
    part === "product"
      ? await productCell(merchant, Math.floor(turn / 9))
      : { asked: simple, cell: simple };
  const asked = { ...query, interval, ...of };
  const [mrr, accounts] = await Promise.all([
    read(merchant, "/v1/metrics/cohorts", { ...asked, gross: "true" }),
    read(merchant, "/v1/metrics/cohorts", { ...asked, basis: "accounts" }),
  ]);
  const active = list(accounts, "data", "cohorts");
  const shown = list(mrr, "data", "cohorts").map((row, index) => ({
    vintage: vintageMonth(text(row, "vintage") ?? ""),
    starting: number(row, "starting_mrr"),
    net: field(row, "retention_curve"),
    gross: field(row, "gross_retention_curve"),
    accounts: field(active[index], "retention_curve"),
  }));
  expectLines(
    `retention ${JSON.stringify(asked)}`,
    [...shown.entries()],
    [...figures.retention(cell, interval, at).entries()],
  );
}

/** The first month of `2026-05`, `2026-Q2` or `2026`. */
function vintageMonth(vintage: string): string {
  const [year = "", part = "1"] = vintage.split("-");
  const month = part.startsWith("Q") ? Number(part.slice(1)) * 3 - 2 : Number(part);
  return `${year}-${String(month).padStart(2, "0")}`;
}

function daysText(row: unknown): string {
  return `${text(row, "from")} ${text(row, "to")}`;
}
