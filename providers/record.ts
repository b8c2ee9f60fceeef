/**
 * The event record: ingest form A, the body of a `custom` webhook, and what a flat form B payload
 * becomes. Rules: `definitions.md`, Ingest. The facts it stands for: record-facts.ts.
 */
import { z } from "zod";
import { compiled, isObject } from "./fields.js";
import { eventAheadMs, limits } from "../config.js";
import { isCountry } from "../schemas/countries.js";
import { exponentOf, majorToMinor } from "../schemas/money/money.js";
import { providerTokens } from "../schemas/provider-tokens.js";
import type { Environment } from "../schemas/records/records.js";
import { hasOnlyCharacters, idBytesMax, isStorable, isStorableName } from "../schemas/bounds.js";

export const eventTypes = [
  "transaction.sale",
  "subscription.new",
  "transaction.refund",
  "subscription.churn",
] as const;

/** `spec.md` 2.6: everything but Paddle. */
export const ingestTokens = providerTokens.filter((token) => token !== "paddle");

/** Any JSON number: `1e400` arrives as Infinity, and is an amount that is too large. */
const jsonNumber = z
  .custom<number>((value) => typeof value === "number")
  .meta({ type: "number", minimum: 0 });
const unstorable = "must have at most 255 bytes, no NUL and no half of a surrogate pair";
const name = z
  .string()
  .min(1)
  .max(idBytesMax)
  .refine((text) => isStorable(text, idBytesMax), unstorable);
/** Of a person, as the sender writes it. */
const personal = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine(hasOnlyCharacters, "must have no NUL and no half of a surrogate pair");
const time = z.iso.datetime({ offset: true });
const currency = z
  .string()
  .refine((code) => exponentOf(code.toUpperCase()) !== null)
  .meta({ description: "ISO 4217", examples: ["USD"] });

/** What both forms may report beside the money. */
const optionalFields = {
  event_id: name.optional().meta({ description: "The event's identity, for ever" }),
  product_id: name.optional().meta({ description: "SKU" }),
  product_name: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .refine(isStorableName, "must have no NUL and no half of a surrogate pair")
    .optional(),
  subscription_id: name.optional(),
  customer_id: name.optional(),
  customer_name: personal.optional().meta({ description: "Kept sealed, shown to members only" }),
  customer_email: personal.optional().meta({ description: "Kept sealed, shown to members only" }),
  transaction_id: name.optional().meta({ description: "Of a refund: the sale it refunds" }),
  interval: z.enum(["day", "week", "month", "year"]).default("month"),
  interval_count: z.int().min(1).max(1_000).default(1),
  quantity: z.number().positive().optional().meta({ description: "Informs; amount is the total" }),
  customer_country: z
    .string()
    .regex(/^[A-Za-z]{2}$/, "must be the two letters of ISO 3166-1")
    .transform((code) => code.toUpperCase())
    .optional()
    .meta({ description: "ISO 3166-1 alpha-2, XK of Kosovo; ZZ: unknown, as when it is left out" }),
  occurred_at: time.optional().meta({ description: "The time of receipt when absent" }),
};

/** Form A as it is sent. Unknown fields are refused, so that a misspelt one is never ignored. */
export const eventRecordShape = z.strictObject({
  provider: z.enum(ingestTokens),
  event_type: z.enum(eventTypes),
  amount: jsonNumber.meta({ description: "Gross total in major units of the currency" }),
  currency,
  ...optionalFields,
});

/** A flat form B payload: the same in a provider's words, amounts in minor units. */
export const flatPayloadShape = z.strictObject({
  id: name.optional().meta({ description: "Another name of event_id" }),
  amount: jsonNumber.meta({ description: "Gross total in minor units of the currency" }),
  currency,
  timestamp: time.optional().meta({ description: "Another name of occurred_at" }),
  ...optionalFields,
});

const compiledRecord = compiled(eventRecordShape);
const compiledFlat = compiled(flatPayloadShape);

type Fields = Omit<z.output<typeof eventRecordShape>, "amount" | "occurred_at">;
/** A record that was read and found right: the amount in minor units, times in ms since 1970. */
export interface EventRecord extends Readonly<Fields> {
  readonly amount_minor: bigint;
  /** null: when it was received */
  readonly occurred_at: number | null;
}

/** Why a record is refused: a stable code, a sentence, and the field. The endpoint answers 422. */
export interface RecordRefusal {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
  readonly param: string;
}
/** What a date may not be (`definitions.md`, Environments). */
export const tooFarAhead = "more than a day ahead (two years in the test environment)";

export type RecordReading = { readonly ok: true; readonly record: EventRecord } | RecordRefusal;

/**
 * Reads form A.
 * @param value parsed JSON
 * @param receivedAt ms since 1970: bounds `occurred_at`
 */
export function readRecord(
  value: unknown,
  receivedAt: number,
  environment: Environment = "live",
): RecordReading {
  const parsed = compiledRecord.safeParse(value);
  if (!parsed.success) return refusalOf(parsed.error, value, "");
  const { amount, occurred_at: occurredAt, ...fields } = parsed.data;
  const places = exponentOf(fields.currency.toUpperCase()) ?? 0;
  const money = {
    amount,
    places,
    param: "amount",
    tooPrecise: "has more decimals than the currency",
  };
  const latest = receivedAt + eventAheadMs(environment);
  return finish(fields, money, { occurredAt, param: "occurred_at" }, latest);
}

/**
 * Reads a flat form B payload.
 * @param eventType the provider's own type
 * @param flatTypes the adapter's table from its types to meanings
 */
export function flatToRecord(
  provider: Fields["provider"],
  eventType: string,
  payload: unknown,
  flatTypes: Readonly<Record<string, EventRecord["event_type"]>>,
  receivedAt: number,
  environment: Environment = "live",
): RecordReading {
  const meaning = Object.hasOwn(flatTypes, eventType) ? flatTypes[eventType] : undefined;
  if (meaning === undefined) {
    const known = Object.keys(flatTypes).join(", ");
    return refuse("event_type_unknown", "event_type", `of ${provider} must be one of: ${known}`);
  }
  const parsed = compiledFlat.safeParse(payload);
  if (!parsed.success) return refusalOf(parsed.error, payload, "payload.");
  const { id, timestamp, amount, occurred_at: occurredAt, ...fields } = parsed.data;
  if (id !== undefined && fields.event_id !== undefined && id !== fields.event_id) {
    return refuse("field_conflict", "payload.event_id", "says something else than id");
  }
  if (timestamp !== undefined && occurredAt !== undefined && timestamp !== occurredAt) {
    return refuse("field_conflict", "payload.occurred_at", "differs from timestamp");
  }
  const event_id = fields.event_id ?? id;
  return finish(
    { provider, event_type: meaning, ...fields, event_id },
    { amount, places: 0, param: "payload.amount", tooPrecise: notMinor },
    {
      occurredAt: timestamp ?? occurredAt,
      param: `payload.${timestamp ? "timestamp" : "occurred_at"}`,
    },
    receivedAt + eventAheadMs(environment),
  );
}

/**
 * What the endpoint refuses beside what cannot be read. Only the endpoint: what was taken before,
 * or is signed by a sender of one's own, is money whatever its country is called.
 * @param prefix of the field, in form B
 */
export function ingestRefusal(
  { customer_country: country }: Pick<EventRecord, "customer_country">,
  prefix: "" | "payload." = "",
): RecordRefusal | null {
  if (country === undefined || isCountry(country)) return null;
  const problem = "must be a country of ISO 3166-1, such as DE; the United Kingdom is GB";
  return refuse("field_invalid", `${prefix}customer_country`, problem);
}

const notMinor = "must be a whole number of the currency's minor unit: 4999 is 49.99 USD";

interface Money {
  readonly amount: number;
  readonly places: number;
  readonly param: string;
  /** What is wrong with more than `places` decimals. */
  readonly tooPrecise: string;
}

/** What the shape alone cannot say: the amount's precision and size, the date's bounds. */
function finish(
  fields: Fields,
  money: Money,
  date: { occurredAt: string | undefined; param: string },
  latest: number,
): RecordReading {
  const amount = minorOf(money.amount, money.places);
  if (typeof amount === "string") {
    const problem = amount === "amount_too_precise" ? money.tooPrecise : amountProblems[amount];
    return refuse(amount, money.param, problem);
  }
  const occurredAt = date.occurredAt === undefined ? null : Date.parse(date.occurredAt);
  if (occurredAt !== null && occurredAt < limits.eventEarliest) {
    return refuse("occurred_at_too_early", date.param, "must not be before the year 2000");
  }
  if (occurredAt !== null && occurredAt > latest) {
    return refuse("occurred_at_in_future", date.param, `must not be ${tooFarAhead}`);
  }
  return {
    ok: true,
    record: {
      amount_minor: amount,
      occurred_at: occurredAt,
      ...fields,
      currency: fields.currency.toUpperCase(),
    },
  };
}

const amountProblems = {
  amount_negative: "must not be negative: event_type decides the direction",
  amount_too_large: `is more than ${limits.amountMinorMax} minor units`,
} as const;

/** Exactly, by the number's shortest decimal form: 19.99 is 1999 although no double is 19.99. */
function minorOf(
  amount: number,
  places: number,
): bigint | keyof typeof amountProblems | "amount_too_precise" {
  const text = String(amount);
  const minor = majorToMinor(text, places);
  if (text.startsWith("-") && minor !== 0n) return "amount_negative";
  if (minor === null)
    return amount > Number.MAX_SAFE_INTEGER ? "amount_too_large" : "amount_too_precise";
  return minor > limits.amountMinorMax ? "amount_too_large" : minor;
}

const codes: Readonly<Record<string, readonly [code: string, message: string]>> = {
  event_type: ["event_type_unknown", `must be one of: ${eventTypes.join(", ")}`],
  amount: ["amount_not_a_number", "must be a JSON number"],
  currency: ["currency_unknown", "must be a currency of ISO 4217"],
  occurred_at: ["occurred_at_invalid", "must be an ISO 8601 date and time with Z or an offset"],
  timestamp: ["occurred_at_invalid", "must be an ISO 8601 date and time with Z or an offset"],
};

/** The first thing that is wrong, in our words. */
function refusalOf(error: z.ZodError, value: unknown, prefix: string): RecordRefusal {
  const [issue] = error.issues;
  if (issue === undefined) throw new Error("A failed reading without an issue");
  if (issue.code === "unrecognized_keys") {
    return refuse("field_unknown", `${prefix}${issue.keys[0] ?? ""}`, "is no field of this form");
  }
  const field = String(issue.path[0] ?? "");
  const param = `${prefix}${field}`.replace(/\.$/, "");
  const given = isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  if (field === "") return refuse("body_not_an_object", param || "body", "must be a JSON object");
  if (given === undefined) return refuse("field_missing", param, "is required");
  if (field === "provider") return providerRefusal(param, given);
  const [code, message] = codes[field] ?? ["field_invalid", issue.message];
  return refuse(code, param, message);
}

export function providerRefusal(param: string, given: unknown): RecordRefusal {
  return given === "paddle"
    ? refuse("provider_not_ingestable", param, "paddle is taken by its webhook only")
    : refuse("provider_unknown", param, `must be one of: ${ingestTokens.join(", ")}`);
}

export function refuse(code: string, param: string, problem: string): RecordRefusal {
  return { ok: false, code, param, message: `${param} ${problem}` };
}
