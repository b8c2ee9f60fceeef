/** The figures of the ingest answer: what will be booked, in the base currency (`spec.md` 4.5). */
import { unprocessable } from "../backends/http/errors.js";
import { limits } from "../config.js";
import type { IngestEvent } from "../providers/ingest-event.js";
import type { DecodedFact } from "../providers/provider.js";
import { knownExponentOf } from "../schemas/currencies.js";
import type { IngestAnswer } from "../schemas/http-ingest.js";
import { convertMinor, toJsonNumber } from "../schemas/money.js";
import type { IngestCall } from "./event.js";

/** @throws ApiError 422: no rate is known for that day, or the amount is too large to be exact */
export function normalize(
  event: IngestEvent,
  identity: string,
  baseCurrency: string,
  call: Pick<IngestCall, "receivedAt" | "service">,
): IngestAnswer["normalized"] {
  const { rates } = call.service;
  const told = amountOf(event, identity, call.receivedAt) ?? {
    amountMinor: 0n,
    currency: baseCurrency,
    at: call.receivedAt,
    provisional: false,
  };
  const quote = rates.quote(told.currency, baseCurrency, told.at);
  if (quote === null) {
    throw unprocessable(
      "fx_rate_missing",
      `No rate of ${told.currency} is known for that day.`,
      event.form === "record" ? "currency" : "payload.currency",
    );
  }
  const amountBase = convertMinor(told.amountMinor, quote.rate, told.currency, baseCurrency);
  if (amountBase > limits.amountMinorMax) {
    throw unprocessable("amount_too_large", `That is too much in ${baseCurrency}.`, "amount");
  }
  return {
    amount_base: toJsonNumber(amountBase, knownExponentOf(baseCurrency)),
    base_currency: baseCurrency,
    fx_rate: Number(quote.rate),
    latency_ms: Math.max(0, Date.now() - call.receivedAt),
    ...(told.provisional ? { provisional: true as const } : {}),
  };
}

interface Told {
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Whose quote counts, ms since 1970. */
  readonly at: number;
  /** A refund is booked at its sale's rate, which decides later. */
  readonly provisional: boolean;
}

/** Null: the event tells no amount (a product's name, which invoice a payment paid). */
function amountOf(event: IngestEvent, identity: string, receivedAt: number): Told | null {
  const { record } = event;
  if (record !== null) {
    return {
      amountMinor: record.amount_minor,
      currency: record.currency,
      at: record.occurred_at ?? receivedAt,
      provisional: record.event_type === "transaction.refund",
    };
  }
  const amounts = event
    .facts(identity)
    .map(amountOfFact)
    .filter((told) => told !== null);
  return amounts[0] ?? null;
}

function amountOfFact({ body }: DecodedFact): Told | null {
  if ("Payment" in body) return moneyOf(body.Payment, false);
  if ("Refund" in body) return moneyOf(body.Refund, true);
  if ("RefundTotal" in body) return moneyOf(body.RefundTotal, true);
  return null;
}

function moneyOf(
  money: { readonly amount: bigint; readonly currency: string; readonly at: number },
  provisional: boolean,
): Told {
  return { amountMinor: money.amount, currency: money.currency, at: money.at, provisional };
}
