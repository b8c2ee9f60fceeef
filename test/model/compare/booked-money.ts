/** The money of decoded events as the processors book it, in the memory of the test. */
import { limits } from "../../../config.js";
import { completeFacts } from "../../../processors/normalize/facts.js";
import { addFacts } from "../../../processors/book/money/known-facts.js";
import {
  type PaymentVersions,
  paymentVersions,
} from "../../../processors/book/payment/payment-versions.js";
import { KeptLists, Lists } from "../../../processors/book/lists.js";
import type { Fact, Quote } from "../../../schemas/records/records.js";
import { metaOf } from "../../harness/facts.js";
import type { DecodedEvent } from "./adapter-facts.js";
import type { Fraction } from "../fraction.js";
import { quote } from "../quotes.js";

/**
 * What is recorded about each payment, all of it reported in one batch.
 * @throws when an event cannot be converted
 */
export async function bookedMoney(
  decoded: readonly DecodedEvent[],
  base: string,
): Promise<PaymentVersions[]> {
  const facts = decoded.flatMap((event) => completed(event, base));
  const { payments } = await addFacts(new Lists(nothingStored, new KeptLists()), facts);
  return payments.map((known) => paymentVersions(known.payment, known.facts));
}

/** All facts are at hand. */
const nothingStored = { read: async () => new Map<string, Buffer>() };

function completed({ event, facts }: DecodedEvent, base: string): Fact[] {
  const { id: event_id, source: provider, receivedAt: received_at } = event;
  const done = completeFacts(facts, {
    meta: metaOf({ event_id, provider, received_at }),
    position: { partition: 0, offset: 0n },
    baseCurrency: base,
    amountMinorMax: limits.amountMinorMax,
    earliest: limits.eventEarliest,
    latest: received_at,
    hashAccount: (account) => account,
    quote: (currency, at) => quoteOf(quote(currency, base, at), currency, base),
  });
  if (done.outcome === "rejected") throw new Error(`${done.reason}: ${done.detail}`);
  return done.facts.filter(({ body }) => !("Subscription" in body) && !("Sku" in body));
}

function quoteOf(rate: Fraction | null, currency: string, base: string): Quote | null {
  if (rate === null) return null;
  const reported = { currency, base_currency: base, date: "", source: "ecb", edition: 1 };
  return { ...reported, rate: decimalOf(rate) };
}

/** Ten significant digits: a rate's text ends. */
function decimalOf({ n, d }: Fraction): string {
  let scale = 0;
  while ((n * 10n ** BigInt(scale)) % d !== 0n) scale += 1;
  const digits = ((n * 10n ** BigInt(scale)) / d).toString().padStart(scale + 1, "0");
  return `${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}0`;
}
