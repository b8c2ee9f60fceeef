/** Customers: where they are. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { ignored } from "../outcomes.js";
import { accountKey, field, reader, type StripeEvent } from "./event.js";

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
