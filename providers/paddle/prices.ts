/**
 * What one unit costs this customer. A price has a base price and may have overrides for countries,
 * which Paddle shows in every item: the customer pays one of them, in the subscription's currency.
 * Source: developer.paddle.com, Prices (`unit_price_overrides`), changelog 2024-02-07 (items carry
 * the whole price).
 */
import { z } from "zod";
import { field } from "./event.js";

const moneyShape = z.object({ amount: field.amount, currency_code: field.currency });

export const unitPricesShape = z.object({
  unit_price: moneyShape,
  unit_price_overrides: z
    .array(z.object({ country_codes: z.array(z.string()), unit_price: moneyShape }))
    .nullish(),
});
type UnitPrices = z.output<typeof unitPricesShape>;
export type UnitPrice = z.output<typeof moneyShape>;

/**
 * Prices in another currency than the subscription's are of other countries. Where Paddle converts
 * the base price itself, no item shows what came of it: the price that was set counts.
 *
 * @param currency of the subscription; null where it is not reported
 * @param country ISO 3166-1 alpha-2; null while it is not known
 * @returns null when it depends on the country and that is not known
 */
export function unitPriceFor(
  { unit_price: base, unit_price_overrides: overrides }: UnitPrices,
  currency: string | null,
  country: string | null,
): UnitPrice | null {
  const own = (overrides ?? []).filter(({ unit_price: price }) => price.currency_code === currency);
  const listed = own.find(
    ({ country_codes: codes }) => country !== null && codes.includes(country),
  );
  if (listed !== undefined) return listed.unit_price;
  const isInBase = base.currency_code === currency;
  if (isInBase && country !== null) return base;
  const possible = [...(isInBase ? [base] : []), ...own.map(({ unit_price: price }) => price)];
  const [first = base, ...others] = possible;
  return others.every(({ amount }) => amount === first.amount) ? first : null;
}

/** @param price as an event shows it */
export function dependsOnCountry(price: unknown, currency: string | null): boolean {
  const { data: prices } = unitPricesShape.safeParse(price);
  return prices !== undefined && unitPriceFor(prices, currency, null) === null;
}
