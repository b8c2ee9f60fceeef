/** Which rows of movements a question is about: those of a provider, a product, a currency … */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { unprocessable } from "../../schemas/http/errors.js";
import type { Several } from "../../schemas/http/several.js";
import { utcDay } from "../../schemas/money/rates.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { QueryParam } from "../../stores/clickhouse/sql-text.js";
import { type AccountsPart, accountsParams, accountsSql } from "./accounts.js";

export interface CellQuery {
  readonly provider?: readonly string[] | undefined;
  /** Ids of unified products. */
  readonly product?: Several | undefined;
  readonly currency?: Several | undefined;
  readonly country?: Several | undefined;
  /** Of movements, as the next: the ledger knows none. */
  readonly vintage?: Several | undefined;
  readonly plan_interval?: readonly string[] | undefined;
  /** Of a segment: these only. */
  readonly accounts?: AccountsPart | undefined;
}

export interface Cell {
  /** SQL over columns of movements, in terms of `params`. */
  readonly condition: string;
  /** The same without accounts, which the ledger does not know (`ledger.ts`). */
  readonly partCondition: string;
  readonly accounts: AccountsPart | undefined;
  readonly params: Readonly<Record<string, QueryParam>>;
  /** Nothing is left out, or nothing but vintages. */
  readonly isOfVintages: boolean;
  /** Some vintages are left out: only one projection knows them, and single rows. */
  readonly hasVintages: boolean;
  /** Some plan intervals or accounts are left out: only single rows know them. */
  readonly isOfRows: boolean;
  /** Of whole SKUs: there is no filter by currency, country, plan interval or account. */
  readonly isOfSkus: boolean;
  /**
   * Every account lies in the cell or outside it. What customers of one account pay may be of
   * several products, currencies, countries and intervals; of one provider it always is.
   */
  readonly hasWholeAccounts: boolean;
}

/** No provider token holds a colon, so the text is unambiguous. */
export const skuSql = "concat(provider, ':', external_id)";

/** @throws ApiError 422 when there is no such product */
export function cellOf(query: CellQuery, catalogue: Catalogue): Cell {
  const { provider, product, currency, country, vintage, plan_interval: intervals } = query;
  const { accounts } = query;
  const parts = {
    provider: provider && { isNot: false, values: provider },
    currency,
    country,
    sku: product && skusOf(product, catalogue),
    vintage: vintage && monthsOf(vintage),
    plan_interval: intervals && { isNot: false, values: intervals },
  };
  const conditions: string[] = [];
  const params: Record<string, QueryParam> = {};
  for (const [name, part] of Object.entries(parts)) {
    if (part === undefined) continue;
    const column = name === "sku" ? skuSql : name;
    const type = name === "vintage" ? "Date" : "String";
    conditions.push(`${column} ${inSql(part)} {cell_${name}:Array(${type})}`);
    params[`cell_${name}`] = part.values;
  }
  const isOfParts = [currency, country, intervals].some((filter) => filter !== undefined);
  const hasVintages = vintage !== undefined;
  const hasAccounts = accounts !== undefined;
  const partCondition = conditions.length === 0 ? "true" : conditions.join(" AND ");
  return {
    condition: hasAccounts ? `${partCondition} AND ${accountsSql(accounts)}` : partCondition,
    partCondition,
    accounts,
    params: { ...params, ...accountsParams(accounts) },
    isOfVintages: !hasAccounts && conditions.length === (hasVintages ? 1 : 0),
    hasVintages,
    isOfRows: intervals !== undefined || hasAccounts,
    isOfSkus: !isOfParts && !hasAccounts,
    hasWholeAccounts: !isOfParts && product === undefined,
  };
}

export function inSql({ isNot }: Pick<Several, "isNot">): "IN" | "NOT IN" {
  return isNot ? "NOT IN" : "IN";
}

/** @returns the first day of each month the vintages cover, `YYYY-MM-DD` */
export function monthsOf({ isNot, values }: Several): Several {
  return { isNot, values: [...new Set(values.flatMap(monthsOfVintage))] };
}

/** @param vintage `2026-05`, `2026-Q2` or `2026` */
function monthsOfVintage(vintage: string): string[] {
  const [year = "", part] = vintage.split("-");
  const months = (first: number, count: number) =>
    Array.from({ length: count }, (_month, index) => utcDay(Date.UTC(Number(year), first + index)));
  if (part === undefined) return months(0, 12);
  if (!part.startsWith("Q")) return months(Number(part) - 1, 1);
  return months(3 * Number(part.slice(1)) - 3, 3);
}

/**
 * @returns `provider:external_id` of each
 * @throws ApiError 422 when there is no such product
 */
export function skusOf({ isNot, values }: Several, catalogue: Catalogue): Several {
  return { isNot, values: values.flatMap((id) => skusOfProduct(id, catalogue)) };
}

function skusOfProduct(id: string, catalogue: Catalogue): string[] {
  const product = catalogue.products.find((each) => each.id === id);
  if (product !== undefined) {
    return product.skus.map((sku) => `${sku.provider}:${sku.externalId}`);
  }
  // Sales without a SKU are one product across providers, and the catalogue does not list it.
  const unattributed = providerTokens.filter(
    (provider) => catalogue.productOf({ provider, externalId: "" }).id === id,
  );
  if (unattributed.length > 0) return unattributed.map((provider) => `${provider}:`);
  throw unprocessable("product_unknown", "There is no product with this id.", "product");
}
