/** The rows of a money table as the events Stripe sends about one payment. */
import { type ApiVersion, type JsonObject } from "../../../ops/payloads/stripe.js";
import { chargeObject, disputeObject, refundObject } from "../../../ops/payloads/stripe-money.js";
import { must } from "../readers/json.js";
import type { Script } from "../stories/story.js";
import { cell, minorUnits, momentOf, type Row } from "./table.js";

/**
 * Columns: `at`, `event`, `amount`. Events: `sale`; `refund <id>` and `refund <id> fails`;
 * `refunded in all` (the charge, with the cumulative amount); `dispute opens`, `dispute won`,
 * `dispute lost`; `inquiry opens`, `inquiry closes`; empty: nothing is sent. A row `sale never`
 * says what was sold without sending it.
 */
export function emitMoney(
  script: Script,
  rows: readonly Row[],
  currency: string,
  version: ApiVersion,
): void {
  const saleRow = must(
    rows.find((row) => cell(row, "event").startsWith("sale")),
    "a sale",
  );
  const soldAt = momentOf(cell(saleRow, "at"));
  const sold = minorUnits(cell(saleRow, "amount"));
  const ids = { charge: "ch_1", paymentIntent: "pi_1" };
  const charge = (amountRefunded: bigint) =>
    chargeObject({
      id: ids.charge,
      paymentIntent: ids.paymentIntent,
      customer: "cus_1",
      amount: sold,
      currency,
      createdAt: soldAt,
      version,
      amountRefunded,
    });
  const refundedAt = new Map<string, { at: number; amount: bigint }>();
  let openedAt = 0;
  for (const row of rows) {
    const at = momentOf(cell(row, "at"));
    const amount = cell(row, "amount") === "" ? 0n : minorUnits(cell(row, "amount"));
    const say = (type: string, object: JsonObject) => script.stripe({ type, at, object, version });
    const dispute = (status: string, moved: number) =>
      disputeObject({
        ...ids,
        id: "dp_1",
        amount: amount === 0n ? sold : amount,
        currency,
        createdAt: openedAt,
        status,
        ...(moved > 0 ? { withdrawnAt: openedAt } : {}),
        ...(moved > 1 ? { returnedAt: at } : {}),
      });
    const [what = "", id = "", fails] = cell(row, "event").split(" ");
    switch (fails === undefined || what === "refunded" ? cell(row, "event") : "refund fails") {
      case "":
      case "sale never":
        break;
      case "sale":
        say("charge.succeeded", charge(0n));
        break;
      case "refunded in all":
        say("charge.refunded", charge(amount));
        break;
      case "refund fails": {
        const refund = must(refundedAt.get(id), `a refund ${id}`);
        const reported = { ...ids, id: `re_${id}`, currency, status: "failed" as const };
        const object = refundObject({ ...reported, amount: refund.amount, createdAt: refund.at });
        say("refund.failed", object);
        break;
      }
      case "dispute opens":
        openedAt = at;
        say("charge.dispute.created", dispute("needs_response", 1));
        break;
      case "dispute won":
        say("charge.dispute.closed", dispute("won", 2));
        break;
      case "dispute lost":
        say("charge.dispute.closed", dispute("lost", 1));
        break;
      case "inquiry opens":
        openedAt = at;
        say("charge.dispute.created", dispute("warning_needs_response", 0));
        break;
      case "inquiry closes":
        say("charge.dispute.closed", dispute("warning_closed", 0));
        break;
      default:
        if (what !== "refund") throw new Error(`not an event: ${cell(row, "event")}`);
        refundedAt.set(id, { at, amount });
        say(
          "refund.created",
          refundObject({ ...ids, id: `re_${id}`, amount, currency, createdAt: at }),
        );
    }
  }
}
