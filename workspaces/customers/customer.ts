/**
 * What is known of one customer, field by field. Events arrive in any order and repeatedly: of each
 * field the newest report counts. Pure.
 */
import { z } from "zod";
import type { NamedCustomer } from "../../providers/provider.js";
import { hasOnlyCharacters, tokenBytesMax } from "../../schemas/bounds.js";

/** A text as it was last reported. */
const reportedText = z.strictObject({
  text: z.string(),
  /** When the provider reported it, ms since 1970. */
  at: z.number(),
  /** A payment reported it, such as the name on a card. */
  ofPayment: z.boolean(),
});
type ReportedText = Readonly<z.output<typeof reportedText>>;

const record = z.strictObject({
  id: z.string().nullable(),
  /** Whose customer it is, where the provider's account has several: Stripe's `acct_…`. */
  merchant: z.string().nullable(),
  name: reportedText.nullable(),
  email: reportedText.nullable(),
});
export type CustomerRecord = Readonly<z.output<typeof record>>;

export const nobody: CustomerRecord = { id: null, merchant: null, name: null, email: null };

export function recordText(customer: CustomerRecord): string {
  const { id, merchant, name, email } = customer;
  return JSON.stringify({ id, merchant, name, email });
}

export function parseRecord(text: string): CustomerRecord {
  return record.parse(JSON.parse(text));
}

export function withNews(customer: CustomerRecord, news: NamedCustomer): CustomerRecord {
  const { at, ofPayment = false } = news;
  const field = (known: ReportedText | null, text: string | null): ReportedText | null => {
    const clean = cleanText(text);
    if (clean === null) return known;
    const next = { text: clean, at, ofPayment };
    return known === null || counts(next, known) ? next : known;
  };
  return {
    id: customer.id ?? idText(news.id),
    merchant: customer.merchant ?? idText(news.merchant ?? null),
    name: field(customer.name, news.name),
    email: field(customer.email, news.email),
  };
}

/** Whether it says something else; an equal report of a later time is not worth a write. */
export function saysMore(next: CustomerRecord, before: CustomerRecord): boolean {
  const isOther = (one: ReportedText | null, other: ReportedText | null) =>
    one?.text !== other?.text || one?.ofPayment !== other?.ofPayment;
  return (
    next.id !== before.id ||
    next.merchant !== before.merchant ||
    isOther(next.name, before.name) ||
    isOther(next.email, before.email)
  );
}

/**
 * What a payment says only fills in, because the name on a card may be another person's. Of two
 * texts of one moment the same one always counts, in any order.
 */
function counts(next: ReportedText, known: ReportedText): boolean {
  if (next.ofPayment !== known.ofPayment) return known.ofPayment;
  return next.at === known.at ? next.text > known.text : next.at > known.at;
}

export function plainEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** Null: nothing that can be kept. */
function cleanText(text: string | null): string | null {
  const trimmed = text?.trim() ?? "";
  const isKept = trimmed !== "" && trimmed.length <= textLengthMax && hasOnlyCharacters(trimmed);
  return isKept ? trimmed : null;
}

/** Of a name or an e-mail: the longest address has 320 characters. */
const textLengthMax = 500;

function idText(id: string | null): string | null {
  const isKept = id !== null && id !== "" && Buffer.byteLength(id) <= tokenBytesMax;
  return isKept && hasOnlyCharacters(id) ? id : null;
}
