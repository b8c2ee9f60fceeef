/** The JSON of a transaction, from a row of the table or from a record of the topic. */
import type { Catalogue, CatalogueProduct } from "../../workspaces/catalogue/view.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import { type Transaction, transaction } from "../../schemas/http/transactions.js";
import type { TransactionRecord } from "../../schemas/records/records.js";
import type { TransactionRow } from "./listed-row.js";

export function presentTransactionRow(row: TransactionRow, catalogue: Catalogue): Transaction {
  const numbers = {
    gross_amount: BigInt(row.gross_amount),
    normalized_amount: BigInt(row.normalized_amount),
    refunded_amount: BigInt(row.refunded_amount),
    tax_amount: row.tax_amount === null ? null : BigInt(row.tax_amount),
    fee_amount: row.fee_amount === null ? null : BigInt(row.fee_amount),
    timestamp: Number(row.timestamp_ms),
  };
  const product = catalogue.productOf({ provider: row.provider, externalId: row.external_id });
  return present(row, numbers, product);
}

/** With the product's name as of publication. */
export function presentTransactionRecord(
  record: TransactionRecord,
  product: CatalogueProduct,
): Transaction {
  return present(record, record, { id: product.id, name: record.product_name });
}

/** Amounts in minor units, times in ms since 1970. */
type Numbers = Pick<
  TransactionRecord,
  | "gross_amount"
  | "normalized_amount"
  | "refunded_amount"
  | "tax_amount"
  | "fee_amount"
  | "timestamp"
>;

function present(
  asIs: Omit<TransactionRow, keyof Numbers | "timestamp_ms" | "payment" | "external_id">,
  numbers: Numbers,
  product: Pick<CatalogueProduct, "id" | "name">,
): Transaction {
  const original = knownExponentOf(asIs.original_currency);
  const base = knownExponentOf(asIs.base_currency);
  const originalOrNull = (amount: bigint | null) =>
    amount === null ? null : toJsonNumber(amount, original);
  return {
    id: asIs.id,
    version: asIs.version,
    provider: shape.provider.parse(asIs.provider),
    product_id: product.id,
    product_name: product.name,
    gross_amount: toJsonNumber(numbers.gross_amount, original),
    original_currency: asIs.original_currency,
    normalized_amount: toJsonNumber(numbers.normalized_amount, base),
    base_currency: asIs.base_currency,
    fx_rate: Number(asIs.fx_rate),
    fx_date: asIs.fx_date,
    refunded_amount: toJsonNumber(numbers.refunded_amount, original),
    tax_amount: originalOrNull(numbers.tax_amount),
    fee_amount: originalOrNull(numbers.fee_amount),
    customer_country: asIs.customer_country,
    type: shape.type.parse(asIs.type),
    status: shape.status.parse(asIs.status),
    timestamp: new Date(numbers.timestamp).toISOString(),
    account: asIs.account,
  };
}

/** The tables hold one of a few words; anything else is our own mistake. */
const { shape } = transaction;
