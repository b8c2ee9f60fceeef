/** The rows of a table of form A records that name no subscription. */
import { must } from "../readers/json.js";
import type { Script } from "../stories/story.js";
import { cell, minorUnits, momentOf, type Row } from "./table.js";

const types: Readonly<Record<string, string>> = {
  sale: "transaction.sale",
  new: "subscription.new",
  churn: "subscription.churn",
};

/** Columns: `at`, `event` ("new a year" has an interval), `sku`, `amount` in USD. */
export function emitRecordRows(script: Script, rows: readonly Row[]): void {
  for (const row of rows) {
    const [event = "", , interval] = cell(row, "event").split(" ");
    script.record({
      provider: "custom",
      event_type: must(types[event], `a type of ${event}`),
      amount: Number(minorUnits(cell(row, "amount"))) / 100,
      currency: "USD",
      product_id: cell(row, "sku"),
      occurred_at: new Date(momentOf(cell(row, "at"))).toISOString(),
      ...(interval === undefined ? {} : { interval }),
    });
  }
}
