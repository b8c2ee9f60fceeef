/** Values as Stripe writes them. */
import { exponentOf } from "../facts.js";
import { must, number, text } from "./json.js";

export function currencyOf(object: unknown): string {
  return must(text(object, "currency"), "a currency").toUpperCase();
}

/** Stripe sends ISK with two decimals that are always 00. */
export function minorOf(amount: number, currency: string): bigint {
  const divisor = currency === "ISK" || currency === "UGX" ? 100n : 1n;
  return BigInt(amount) / (exponentOf(currency) === 0 ? divisor : 1n);
}

/** Stripe's seconds as ms. */
export function seconds(value: unknown, ...path: string[]): number {
  return must(number(value, ...path), path.join(".")) * 1000;
}
