/**
 * Charges of Baremetrics: a CSV with the names its API gives to the fields of a charge. Sources:
 * docs/import.md.
 */
import { exponentOf, minorToMajor } from "../../../schemas/money/money.js";
import type { ExportedEvents, ExportFormat } from "./format.js";
import { centsOf, type LeftOut, type Line, type Tables, timeOf } from "./tables.js";

type Name = "charges" | "subscriptions" | "MRR";

export const baremetrics: ExportFormat<Name> = {
  datasets: {
    subscriptions: {
      columns: ["subscription oid", "subscription started at"],
      refused:
        "it lists subscriptions and what their plans cost, not what was paid. Payments would be " +
        "invented from it; export the charges.",
    },
    charges: { columns: ["oid", "status", "created", "amount", "currency"] },
    MRR: {
      columns: ["mrr"],
      refused: "it holds a figure over time and no payments; export the charges.",
    },
  },
  required: ["charges"],
  missing: [
    "MRR, plans and ends of subscriptions: a charge says what was paid, not for how long.",
    "Refunds: a refunded charge says neither when nor how much, and is left out.",
    "Taxes and fees of a payment.",
  ],
  events: (tables: Tables<Name>, leftOut: LeftOut): ExportedEvents => ({
    events: (tables.get("charges") ?? []).flatMap((line) => {
      const cells = cellsOf(line);
      if (typeof cells === "string") leftOut.add(cells, line.line);
      return typeof cells === "string" ? [] : [cells];
    }),
    notes: [],
  }),
};

/** @returns a text where it is left out: why */
function cellsOf({ cells }: Line): Readonly<Record<string, string | undefined>> | string {
  const [oid, amount] = [cells.get("oid"), centsOf(cells.get("amount"))];
  const currency = cells.get("currency")?.toUpperCase() ?? "";
  const at = createdAt(cells.get("created"));
  const original = cells.get("original amount");
  if (cells.get("status")?.toLowerCase() !== "paid") return "its status is not paid";
  if (oid === undefined) return "it has no oid";
  if (at === null) return "created is neither seconds since 1970 nor a time in UTC";
  if (amount === null || amount <= 0n) return "amount is no count of cents above 0";
  if (exponentOf(currency) !== 2) return `it is in ${currency}, which has no cents`;
  if (original !== undefined && centsOf(original) !== amount) {
    return "amount and original_amount differ: which of them was paid is not documented";
  }
  return {
    event_type: "transaction.sale",
    event_id: `baremetrics:${cells.get("source id") ?? ""}:${oid}`,
    amount: minorToMajor(amount, 2),
    currency,
    occurred_at: at,
    customer_id: cells.get("customer oid"),
    customer_name: cells.get("customer name"),
    customer_email: cells.get("customer email"),
  };
}

function createdAt(text: string | undefined): string | null {
  if (!/^\d{9,10}$/.test(text ?? "")) return timeOf(text);
  return new Date(Number(text) * 1000).toISOString();
}
