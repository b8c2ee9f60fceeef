/**
 * Makes bodies a custom sender posts: event records whose amounts are exact decimals. For tests,
 * the demo and the property test; `sign` in index.ts makes the headers that go with them.
 */
import { exponentOf, minorToMajor } from "../../schemas/money/money.js";

export interface RecordInput {
  readonly eventType:
    | "transaction.sale"
    | "subscription.new"
    | "transaction.refund"
    | "subscription.churn";
  /** Without one the message's own id (`webhook-id`) is the event's. */
  readonly eventId?: string;
  readonly amountMinor: bigint;
  /** ISO 4217 */
  readonly currency: string;
  /** ms since 1970; without it the time of receipt */
  readonly at?: number;
  /** Further fields of form A, as they are sent. */
  readonly more?: Readonly<Record<string, string | number>>;
}

/** The amount is written into the JSON as decimal text: it never passes through a double. */
export function recordBody(input: RecordInput): Buffer {
  const { eventType, eventId, amountMinor, currency, at, more } = input;
  const fields = {
    ...(eventId === undefined ? {} : { event_id: eventId }),
    event_type: eventType,
    currency,
    ...(at === undefined ? {} : { occurred_at: new Date(at).toISOString() }),
    ...more,
  };
  const amount = minorToMajor(amountMinor, exponentOf(currency.toUpperCase()) ?? 2);
  return Buffer.from(`{"amount":${amount},${JSON.stringify(fields).slice(1)}`);
}
