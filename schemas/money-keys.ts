/** What facts about money are looked up by (`money_facts`), where they are written and read. */
import type { FactBody } from "./records/records.js";

export function paymentKey(payment: string): string {
  return `payment:${payment}`;
}

export function purchaseKey(purchase: string): string {
  return `purchase:${purchase}`;
}

/** The payment and the purchase that a link, or a refund naming a purchase, ties together. */
export function tieOf(body: FactBody): { payment: string; purchase: string } | null {
  if ("Link" in body) return body.Link;
  if (!("Refund" in body)) return null;
  const { payment, purchase = null } = body.Refund;
  return payment === null || purchase === null ? null : { payment, purchase };
}
