/** The figures of the ingest answer: what will be booked, in the base currency (`spec.md` 4.5). */
import { ApiError, unprocessable } from "../schemas/http/errors.js";
import { eventAheadMs, limits } from "../config.js";
import type { IngestEvent } from "../providers/ingest-event.js";
import type { DecodedFact, ProviderToken } from "../providers/provider.js";
import {
  conversionOf,
  convertedAs,
  malformedDetail,
  type Unconvertible,
} from "../schemas/bounds.js";
import { convertMinor, knownExponentOf, toJsonNumber } from "../schemas/money/money.js";
import type { IngestAnswer } from "../schemas/http/ingest.js";
import type { FactBody, Quote } from "../schemas/records/records.js";
import type { Access } from "../workspaces/keys.js";
import type { IngestService } from "./append-sealed.js";

/**
 * @throws ApiError 422 where booking would refuse any of it: no rate is known for its day, its date
 *   is out of bounds, or its amount is too large to be exact
 */
export function normalize(
  event: IngestEvent,
  identity: string,
  baseCurrency: string,
  { access, receivedAt, service }: Call,
): IngestAnswer["normalized"] {
  const quoteOf = (currency: string, at: number) => service.rates.quote(currency, baseCurrency, at);
  const facts = event.facts(identity);
  const latest = receivedAt + eventAheadMs(access.environment);
  refuseUnbookable(event, facts, quoteOf, latest);
  const nothing = { amountMinor: 0n, currency: baseCurrency, at: receivedAt, provisional: false };
  const named = amountOf(event, facts, receivedAt) ?? nothing;
  const own = quoteOf(named.currency, named.at);
  // What moves no money needs no rate; a known one is shown.
  const reported = own === null && !movesMoney(event) ? nothing : named;
  const quote = own ?? quoteOf(reported.currency, reported.at);
  if (quote === null) throw refusal({ ok: false, reason: "fx_rate_missing", ...reported }, event);
  const amountBase = convertMinor(
    reported.amountMinor,
    quote.rate,
    reported.currency,
    baseCurrency,
  );
  if (amountBase > limits.amountMinorMax) {
    throw refusal({ ok: false, reason: "amount_too_large" }, event);
  }
  return {
    amount_base: toJsonNumber(amountBase, knownExponentOf(baseCurrency)),
    base_currency: baseCurrency,
    fx_rate: Number(quote.rate),
    latency_ms: Math.max(0, Date.now() - receivedAt),
    ...(reported.provisional ? { provisional: true as const } : {}),
  };
}

interface Call {
  readonly access: Pick<Access, "environment">;
  /** The recorded clock, ms since 1970. */
  readonly receivedAt: number;
  readonly service: Pick<IngestService, "rates">;
}

/** For what is kept and not booked: no money moves, so no rate is needed. */
export function notBooked(
  mirrorOf: ProviderToken,
  baseCurrency: string,
  receivedAt: number,
): IngestAnswer["normalized"] {
  return {
    amount_base: 0,
    base_currency: baseCurrency,
    fx_rate: 1,
    latency_ms: Math.max(0, Date.now() - receivedAt),
    mirror_of: mirrorOf,
  };
}

/** Checks the rates and bounds that booking will apply to the same facts. */
function refuseUnbookable(
  event: IngestEvent,
  facts: readonly DecodedFact[],
  quote: (currency: string, at: number) => Quote | null,
  latest: number,
): void {
  const by = {
    amountMinorMax: limits.amountMinorMax,
    earliest: limits.eventEarliest,
    latest,
    quote,
  };
  for (const fact of facts) {
    const conversion = conversionOf(fact, by);
    if (!conversion.ok) throw refusal(conversion, event);
  }
}

/** 422 that may pass: that day's list can perhaps be fetched (stamped.ts). */
export class RateMissing extends ApiError {
  readonly currency: string;
  /** The moment whose quote counts, ms since 1970. */
  readonly at: number;

  constructor(message: string, param: string | undefined, asked: { currency: string; at: number }) {
    super(422, "invalid_request", "fx_rate_missing", message, { param });
    this.currency = asked.currency;
    this.at = asked.at;
  }
}

/** A provider's own body names its fields in its own way. */
function refusal(refused: Unconvertible, { form, record }: IngestEvent): ApiError {
  const [code, field, message] = wordsOf(refused);
  const param = form === "record" ? field : record === null ? "payload" : `payload.${field}`;
  return refused.reason === "fx_rate_missing"
    ? new RateMissing(message, param, refused)
    : unprocessable(code, message, param);
}

function wordsOf(refused: Unconvertible): readonly [code: string, field: string, message: string] {
  switch (refused.reason) {
    case "currency_unknown":
      return [refused.reason, "currency", `${refused.currency} is no currency of ISO 4217.`];
    case "dated_too_early":
      return ["occurred_at_too_early", "occurred_at", "It is dated before the year 2000."];
    case "dated_too_late":
      return ["occurred_at_in_future", "occurred_at", "It is dated more than a day ahead."];
    case "fx_rate_missing":
      return [refused.reason, "currency", `No rate of ${refused.currency} is known for that day.`];
    case "malformed":
      return [refused.reason, refused.field, malformedDetail(refused.field)];
    case "amount_too_large":
      break;
  }
  return ["amount_too_large", "amount", "An amount is too large to be shown exactly."];
}

interface Reported {
  readonly amountMinor: bigint;
  readonly currency: string;
  /** The moment whose quote counts, ms since 1970. */
  readonly at: number;
  /** A refund or dispute is booked at its sale's rate, which decides later. */
  readonly provisional: boolean;
}

/** Of form A: a churn and a sale of nothing do not. */
function movesMoney({ record }: IngestEvent): boolean {
  if (record === null) return true;
  return record.event_type !== "subscription.churn" && record.amount_minor !== 0n;
}

/** Null: the event reports no amount (a product's name, which invoice a payment paid). */
function amountOf(
  { record }: IngestEvent,
  facts: readonly DecodedFact[],
  receivedAt: number,
): Reported | null {
  if (record !== null) {
    return {
      amountMinor: record.amount_minor,
      currency: record.currency,
      at: record.occurred_at ?? receivedAt,
      provisional: record.event_type === "transaction.refund",
    };
  }
  const amounts = facts.map(amountOfFact).filter((reported) => reported !== null);
  return amounts[0] ?? null;
}

function amountOfFact({ body }: DecodedFact): Reported | null {
  const amountMinor = amountIn(body);
  const dated = convertedAs(body);
  if (amountMinor === null || dated === null) return null;
  return { amountMinor, ...dated, provisional: !("Payment" in body) };
}

function amountIn(body: FactBody): bigint | null {
  if ("Payment" in body) return body.Payment.amount;
  if ("Refund" in body) return body.Refund.amount;
  if ("RefundTotal" in body) return body.RefundTotal.amount;
  return "Dispute" in body ? body.Dispute.amount : null;
}
