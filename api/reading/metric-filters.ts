/** Which rows of movements a question is about: those of a provider, a product, a currency … */
import type { Catalogue } from "../../catalogue/view.js";
import { unprocessable } from "../../http/errors.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { QueryParam } from "../../clickhouse/sql-text.js";

export interface CellQuery {
  readonly provider?: string | undefined;
  /** Id of a unified product. */
  readonly product?: string | undefined;
  readonly currency?: string | undefined;
  /** Any of these. */
  readonly country?: readonly string[] | undefined;
}

export interface Cell {
  /** SQL over columns all tables with figures have, in terms of `params`. */
  readonly condition: string;
  readonly params: Readonly<Record<string, QueryParam>>;
  /** Nothing is left out. */
  readonly isWhole: boolean;
  /** Nothing of a SKU is left out: neither a currency nor a country is asked for. */
  readonly isOfSkus: boolean;
  /**
   * Every account lies in the cell or outside it. What customers of one account pay may be of
   * several products, currencies and countries; of one provider it always is.
   */
  readonly hasWholeAccounts: boolean;
}

/** No provider token holds a colon, so the text is unambiguous. */
export const skuSql = "concat(provider, ':', external_id)";

/** @throws ApiError 422 when there is no such product */
export function cellOf(query: CellQuery, catalogue: Catalogue): Cell {
  const { provider, product, currency, country } = query;
  const conditions: string[] = [];
  const params: Record<string, QueryParam> = {};
  for (const [name, value] of Object.entries({ provider, currency })) {
    if (value === undefined) continue;
    conditions.push(`${name} = {cell_${name}:String}`);
    params[`cell_${name}`] = value;
  }
  if (country !== undefined) {
    conditions.push("country IN {cell_countries:Array(String)}");
    params["cell_countries"] = country;
  }
  if (product !== undefined) {
    conditions.push(`${skuSql} IN {cell_skus:Array(String)}`);
    params["cell_skus"] = skusOf(product, catalogue);
  }
  return {
    condition: conditions.length === 0 ? "true" : conditions.join(" AND "),
    params,
    isWhole: conditions.length === 0,
    isOfSkus: currency === undefined && country === undefined,
    hasWholeAccounts: product === undefined && currency === undefined && country === undefined,
  };
}

/**
 * @returns `provider:external_id` of each
 * @throws ApiError 422 when there is no such product
 */
export function skusOf(id: string, catalogue: Catalogue): string[] {
  const product = catalogue.products.find((each) => each.id === id);
  if (product !== undefined) {
    return product.skus.map((sku) => `${sku.provider}:${sku.externalId}`);
  }
  // What no SKU was reported is one product of all providers, and stands in no catalogue.
  const unattributed = providerTokens.filter(
    (provider) => catalogue.productOf({ provider, externalId: "" }).id === id,
  );
  if (unattributed.length > 0) return unattributed.map((provider) => `${provider}:`);
  throw unprocessable("product_unknown", "There is no product with this id.", "product");
}
