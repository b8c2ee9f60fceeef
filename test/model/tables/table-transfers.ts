/** The rows of a table of subscriptions that RevenueCat reports under changing customers. */
import { monthsAfter } from "../../../ops/demo/calendar.js";
import { purchaseBody, type PurchaseType } from "../../../ops/payloads/revenuecat.js";
import { must } from "../readers/json.js";
import type { Script } from "../stories/story.js";
import { cell, minorUnits, momentOf, type Row } from "./table.js";

const types: Readonly<Record<string, PurchaseType>> = {
  purchase: "INITIAL_PURCHASE",
  renewal: "RENEWAL",
  expiration: "EXPIRATION",
};

/** Columns: `at`, when the month begins or the end was; `sub`; `event`; `user`; `amount` in USD. */
export function emitTransfers(script: Script, rows: readonly Row[]): void {
  for (const row of rows) {
    const event = cell(row, "event");
    const type = must(types[event], `a type of ${event}`);
    const at = momentOf(cell(row, "at"));
    const amount = cell(row, "amount");
    const id = script.id("rcevt");
    const body = purchaseBody(type, {
      id,
      at,
      transaction: script.id("txn"),
      original: cell(row, "sub"),
      user: cell(row, "user"),
      product: "prod_0",
      store: "AMAZON",
      purchasedAt: at,
      expirationAt: type === "EXPIRATION" ? at : monthsAfter(at, 1),
      amount: amount === "" ? 0n : minorUnits(amount),
      currency: "USD",
    });
    script.sent.push({ id, source: "revenuecat", body: JSON.parse(body.toString()) });
  }
}
