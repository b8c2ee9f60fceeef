/** Movements as a table to proofread. */
import { cell, momentOf, rowsOf } from "../model/tables/table.js";
import type { TestMovement } from "./query-rows.js";

/** Recorded when they happened; the vintage is the month of the account's first row. */
export function movementsIn(table: string): TestMovement[] {
  const first = new Map<string, string>();
  return rowsOf(table).map((row) => {
    const at = momentOf(cell(row, "at"));
    const account = cell(row, "account");
    const vintage = first.get(account) ?? `${cell(row, "at").slice(0, 7)}-01`;
    first.set(account, vintage);
    return {
      at,
      account,
      vintage,
      recorded_at: at,
      kind: cell(row, "kind"),
      mrr: cell(row, "mrr"),
      accounts: Number(cell(row, "accounts")),
      provider: row["provider"] ?? "stripe",
      external_id: `prod_${row["sku"] ?? "a"}`,
      currency: row["currency"] ?? "EUR",
    };
  });
}
