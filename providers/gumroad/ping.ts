/**
 * Gumroad's pings: forms whose every value is a string. Resources about a sale repeat the whole
 * sale; those about a membership name it and what happened to it.
 */
import { z } from "zod";
import { compiled, idText } from "../fields.js";
import { limits } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import type { Unreported } from "../outcomes.js";

const digitsMax = limits.amountMinorMax.toString().length;
const cents = z
  .string()
  .regex(new RegExp(`^\\d{1,${digitsMax}}$`))
  .transform((text) => BigInt(text));
const digit = z
  .string()
  .regex(/^\d$/)
  .transform((text) => Number(text));
const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const flag = z
  .string()
  .optional()
  .transform((text) => text === "true");
const optionalId = idText.optional().catch(undefined);

/** Months one charge pays for. */
const months: ReadonlyMap<string, bigint> = new Map([
  ["monthly", 1n],
  ["quarterly", 3n],
  ["biannually", 6n],
  ["yearly", 12n],
  ["every_two_years", 24n],
]);
const recurrence = z.string().transform((text, context): bigint => {
  const count = months.get(text);
  if (count !== undefined) return count;
  context.addIssue({ code: "custom", message: "unknown recurrence" });
  return z.NEVER;
});

/** `price` and `gumroad_fee` are US cents, whatever `currency` the product is listed in. */
export const saleShape = compiled(
  z.object({
    sale_id: idText,
    sale_timestamp: time,
    product_id: idText,
    product_name: z.string().optional(),
    price: cents,
    gumroad_fee: cents.optional().catch(undefined),
    currency: z.string().optional(),
    purchaser_id: optionalId,
    email: z.string().optional(),
    subscription_id: optionalId,
    recurrence: recurrence.optional(),
    ip_country: z.string().optional(),
    is_recurring_charge: flag,
    is_preorder_authorization: flag,
    is_gift_receiver_purchase: flag,
    /** What the giver paid, US cents: in the pings of gifts only. */
    gift_price: cents.optional().catch(undefined),
    gifter_email: z.string().optional(),
    refunded: flag,
  }),
);
export type Sale = z.output<typeof saleShape>;

export const membershipShape = compiled(
  z.object({
    subscription_id: idText,
    product_id: idText,
    user_id: optionalId,
    user_email: z.string().optional(),
    recurrence: recurrence.optional(),
    free_trial_ends_at: time.optional().catch(undefined),
    ended_at: time.optional(),
    ended_reason: z.string().optional(),
    restarted_at: time.optional(),
    effective_as_of: time.optional(),
    retry_count: digit.optional().catch(undefined),
    "old_plan[price_cents]": cents.optional(),
    "old_plan[recurrence]": recurrence.optional(),
    "new_plan[price_cents]": cents.optional(),
    "new_plan[recurrence]": recurrence.optional(),
  }),
);
export type Membership = z.output<typeof membershipShape>;

/**
 * The fields by name, as a form writes them. By the ingest endpoint a ping may come as JSON: its
 * objects become `name[inner]`, its numbers and flags text.
 */
export function fieldsOf(body: unknown): Fields | null {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return null;
  const known = read.get(body);
  if (known !== undefined) return known;
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) write(fields, name, value);
  withoutCustomFields(fields);
  read.set(body, fields);
  return fields;
}

export type Fields = Readonly<Record<string, string>>;
/** Heading, questions and facts are all read from the same body. */
const read = new WeakMap<object, Fields>();

/**
 * Gumroad writes a seller's custom fields beside the ping's own, where one named `price` or `test`
 * takes the place of the ping's, and lists them again as `custom_fields`. What the buyer wrote is
 * not read: a sale that lacks its price then is a reject. Source: antiwork/gumroad,
 * app/modules/purchase/ping_notification.rb.
 */
function withoutCustomFields(fields: Record<string, string>): void {
  for (const name of replaceable) {
    const custom = fields[`custom_fields[${name}]`];
    if (custom !== undefined && fields[name] === custom) delete fields[name];
  }
}

/** Written before the custom fields; those after them win. */
const replaceable = [
  "product_id",
  "product_name",
  "email",
  "price",
  "gumroad_fee",
  "currency",
  "sale_timestamp",
  "purchaser_id",
  "subscription_id",
  "test",
  "is_recurring_charge",
  "is_preorder_authorization",
] as const;

function write(fields: Record<string, string>, name: string, value: unknown): void {
  if (typeof value === "string" || typeof value === "number") {
    // An empty field is Rails' way of writing nothing.
    if (value !== "") fields[name] = String(value);
  } else if (typeof value === "boolean") {
    fields[name] = String(value);
  } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    // Lists (`purchase_ids[]`) report nothing that is read.
    for (const [inner, part] of Object.entries(value)) write(fields, `${name}[${inner}]`, part);
  }
}

/** Which resource a ping is of; the account-wide ping setting of old names none. */
export function resourceOf(fields: Fields): string | null {
  return fields["resource_name"] ?? (fields["sale_id"] === undefined ? null : "sale");
}

/** The buyer's Gumroad account, else the e-mail, which is hashed before it is kept. */
export function accountOf(user: string | undefined, email: string | undefined): string | null {
  return user ?? (email?.trim().toLowerCase() || null);
}

export type Reported = readonly FactBody[] | Unreported;
