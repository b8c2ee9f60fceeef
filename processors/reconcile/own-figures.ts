/**
 * A provider's own figures of a month, where its API tells them, beside ours. Ours are sums
 * over what is booked, theirs are never worked out here.
 */
import type { Unread } from "../../providers/api/ask-json.js";
import type { OwnFigure, Span, ToldFigure } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import {
  convertMinor,
  knownExponentOf,
  parseDecimal,
  rescale,
  toJsonMinor,
} from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { MonthReport } from "../../schemas/reconciliation.js";
import type { Service } from "../../service.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Integration } from "../../workspaces/integrations.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import type { BackfillingService } from "../backfill/backfill.js";
import { askPatiently } from "../backfill/read-page.js";

type Found = Pick<MonthReport, "own_figures" | "own_figures_problem">;

/** @param month ms since 1970; the end is exclusive. Only days that are over count. */
export async function ownFigures(
  service: BackfillingService,
  provider: Provider,
  integration: Integration,
  month: Span,
): Promise<Found | Unread> {
  const found: Found = { own_figures: [], own_figures_problem: null };
  const days = { from: month.from, to: Math.min(month.to, Date.parse(utcDay(Date.now()))) };
  if (days.to <= days.from) return found;
  for (const figure of provider.backfill?.ownFigures ?? []) {
    const question = { path: figure.path(days), name: figure.name };
    const asked = await askPatiently(service, { provider, integration }, question);
    if ("problem" in asked) {
      if (asked.for === "now") return asked;
      // A key without the permission still compares what it may read.
      found.own_figures_problem = asked.problem;
      continue;
    }
    const told = figure.read(asked.value);
    if (told === null) {
      found.own_figures_problem = `The API of ${provider.token} did not answer ${figure.name}.`;
    } else if (told.through !== null) {
      const until = { from: days.from, to: told.through };
      found.own_figures.push(await besideOurs(service, integration, figure, told, until));
    }
  }
  return found;
}

async function besideOurs(
  service: BackfillingService,
  integration: Integration,
  { figure, why }: OwnFigure,
  { currency, amount }: ToldFigure,
  days: Span,
): Promise<Found["own_figures"][number]> {
  const base = (await findWorkspace(service.postgres, integration.workspace))?.base_currency;
  if (base === undefined) throw new Error(`no workspace ${integration.workspace}`);
  const { alike, ours } = await bookedFigure(service, integration, figure, base, days);
  const quote = currency === null ? null : service.rates.quote(base, currency, days.to);
  const inTheirs = (minor: bigint) => {
    if (currency === null) return minor;
    return quote && convertMinor(minor, quote.rate, base, currency);
  };
  const json = (minor: bigint | null) => (minor === null ? null : toJsonMinor(minor));
  const booked = inTheirs(alike);
  const sentences = [why];
  if (quote !== null && currency !== base) {
    sentences.push(`Ours is converted from ${base} at the rate of ${quote.date}.`);
  }
  if (await hasSiblings(service, integration)) {
    sentences.push("Ours has all integrations of this provider in the workspace.");
  }
  return {
    figure,
    through: new Date(days.to).toISOString(),
    currency,
    exponent: currency === null ? 0 : knownExponentOf(currency),
    listed_minor: toJsonMinor(amount),
    booked_minor: json(booked),
    figure_minor: json(inTheirs(ours)),
    why: booked === amount ? null : sentences.join(" "),
  };
}

interface BookedFigure {
  /** Counted as the provider says it counts. */
  readonly alike: bigint;
  /** As our own figures have it. */
  readonly ours: bigint;
}

const sumsOf = {
  mrr: `SELECT toString(sum(mrr)) AS ours, ours AS alike FROM mrr_movements
     WHERE at < {to:DateTime64(3, 'UTC')}`,
  revenue: `SELECT toString(sum(toInt128(amount))) AS ours,
       toString(sumIf(toInt128(amount) - tax - fee, kind = 'sale')) AS alike FROM ledger
     WHERE happened_at >= {from:DateTime64(3, 'UTC')} AND happened_at < {to:DateTime64(3, 'UTC')}`,
  refunds: `SELECT toString(-sum(toInt128(amount))) AS ours,
       toString(-sum(toInt128(amount) - tax)) AS alike FROM ledger
     WHERE happened_at >= {from:DateTime64(3, 'UTC')} AND happened_at < {to:DateTime64(3, 'UTC')}
       AND kind = 'refund'`,
  chargebacks: `SELECT toString(uniqExactIf((payment, entry), amount != 0)) AS ours, ours AS alike
     FROM ledger
     WHERE happened_at >= {from:DateTime64(3, 'UTC')} AND happened_at < {to:DateTime64(3, 'UTC')}
       AND kind = 'dispute'`,
} as const;

async function bookedFigure(
  { clickhouse }: Pick<Service, "clickhouse">,
  { workspace, environment, provider }: Integration,
  figure: OwnFigure["figure"],
  base: string,
  { from, to }: Span,
): Promise<BookedFigure> {
  const [row] = await clickhouse.rows<Record<keyof BookedFigure, string>>(
    `${sumsOf[figure]} AND workspace = {workspace:String} AND environment = {environment:String}
       AND provider = {provider:String}`,
    { workspace, environment, provider, from: clickhouseTime(from), to: clickhouseTime(to) },
  );
  const minor = (text = "0"): bigint => {
    if (figure !== "mrr") return BigInt(text);
    const decimal = parseDecimal(text);
    return decimal === null ? 0n : rescale(decimal, knownExponentOf(base)).digits;
  };
  return { alike: minor(row?.alike), ours: minor(row?.ours) };
}

/** What is booked of a provider is one book, whichever integration reported it. */
async function hasSiblings(
  { postgres }: Pick<Service, "postgres">,
  { workspace, environment, provider }: Integration,
): Promise<boolean> {
  const [row] = await postgres.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM integrations
     WHERE workspace = $1 AND environment = $2 AND provider = $3`,
    [workspace, environment, provider],
  );
  return (row?.count ?? 0) > 1;
}
