/** Customers: where they are, and who. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { isObject, textOf } from "../fields.js";
import { ignored } from "../outcomes.js";
import type { NamedCustomer, Provider } from "../provider.js";
import { accountKey, field, idIn, reader, type StripeEvent } from "./event.js";

const shape = z.object({ id: field.id, address: field.address });

export const readCustomer = reader(shape, ({ id, address }, event) => {
  const facts = customerIn(event, id, address);
  return facts.length > 0 ? facts : ignored("it names no country");
});

/** Nothing where either is not known. */
export function customerIn(
  event: StripeEvent,
  customer: string | null,
  country: string | null,
): FactBody[] {
  const account = accountKey(event, customer);
  return account === null || country === null ? [] : [{ Customer: { account, country } }];
}

/** Of the event, what its object is of. */
type Telling = Pick<StripeEvent, "account" | "at"> & {
  readonly object: Readonly<Record<string, unknown>>;
};

/**
 * A customer, or whom any other object names: itself where it was expanded, else by what an invoice
 * has of it, else by what was entered for one payment.
 */
export function namedIn({ account, at, object }: Telling): NamedCustomer[] {
  const whole = object["object"] === "customer" ? object : object["customer"];
  const id = isObject(whole) ? textOf(whole["id"]) : textOf(whole);
  if (id === null) return [];
  const known = { account: idIn(account, id), id, at, merchant: account };
  const named: NamedCustomer[] = isObject(whole)
    ? [{ ...known, name: textOf(whole["name"]), email: textOf(whole["email"]) }]
    : [
        {
          ...known,
          name: textOf(object["customer_name"]),
          email: textOf(object["customer_email"]),
        },
      ];
  const entered = object["billing_details"] ?? object["customer_details"];
  if (!isObject(entered)) return named;
  const name = textOf(entered["name"]);
  const email = textOf(entered["email"]) ?? textOf(object["receipt_email"]);
  return [...named, { ...known, name, email, ofPayment: true }];
}

export const customerUrl: NonNullable<Provider["customerUrl"]> = ({ id, merchant }, environment) =>
  [
    "https://dashboard.stripe.com",
    merchant,
    environment === "test" ? "test" : null,
    "customers",
    id,
  ]
    .filter((part) => part !== null)
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join("/");
