/** The JSON of a transaction, from a row of the table or from a record of the topic. */
import type { CatalogueProduct } from "../../backends/catalogue-view.js";
import { knownExponentOf } from "../../schemas/currencies.js";
import { type Transaction, transaction } from "../../schemas/http-transactions.js";
import { toJsonNumber } from "../../schemas/money.js";
import type { TransactionRecord } from "../../schemas/records.js";
import type { TransactionRow } from "../queries/transactions.js";

export function presentTransactionRow(row: TransactionRow, product: CatalogueProduct): Transaction {
  return present(
    {
      ...row,
      gross_amount: BigInt(row.gross_amount),
      normalized_amount: BigInt(row.normalized_amount),
      refunded_amount: BigInt(row.refunded_amount),
      tax_amount: row.tax_amount === null ? null : BigInt(row.tax_amount),
      fee_amount: row.fee_amount === null ? null : BigInt(row.fee_amount),
      timestamp: Number(row.timestamp_ms),
    },
    product,
  );
}

/** The product's name is as it was when the version was published. */
export function presentTransactionRecord(
  record: TransactionRecord,
  product: CatalogueProduct,
): Transaction {
  return present(record, { id: product.id, name: record.product_name });
}

/** What both have; amounts in minor units, times in ms since 1970. */
type Document = Pick<
  TransactionRecord,
  | "id"
  | "version"
  | "gross_amount"
  | "original_currency"
  | "normalized_amount"
  | "base_currency"
  | "fx_rate"
  | "fx_date"
  | "refunded_amount"
  | "tax_amount"
  | "fee_amount"
  | "customer_country"
  | "timestamp"
> & { readonly provider: string; readonly type: string; readonly status: string };

function present(document: Document, product: Pick<CatalogueProduct, "id" | "name">): Transaction {
  const original = knownExponentOf(document.original_currency);
  const base = knownExponentOf(document.base_currency);
  const originalOrNull = (amount: bigint | null) =>
    amount === null ? null : toJsonNumber(amount, original);
  return {
    id: document.id,
    version: document.version,
    provider: shape.provider.parse(document.provider),
    product_id: product.id,
    product_name: product.name,
    gross_amount: toJsonNumber(document.gross_amount, original),
    original_currency: document.original_currency,
    normalized_amount: toJsonNumber(document.normalized_amount, base),
    base_currency: document.base_currency,
    fx_rate: Number(document.fx_rate),
    fx_date: document.fx_date,
    refunded_amount: toJsonNumber(document.refunded_amount, original),
    tax_amount: originalOrNull(document.tax_amount),
    fee_amount: originalOrNull(document.fee_amount),
    customer_country: document.customer_country,
    type: shape.type.parse(document.type),
    status: shape.status.parse(document.status),
    timestamp: new Date(document.timestamp).toISOString(),
  };
}

/** What the tables hold as text is one of few words; anything else is our own mistake. */
const { shape } = transaction;
