/** The status of a transaction; a part that was given back is named beside it. */
import type { Transaction } from "../../../schemas/http/transactions.js";
import { words } from "../../format/names.js";
import { money } from "../../format/numbers.js";

type Shown = Pick<Transaction, "status" | "refunded_amount" | "original_currency">;

export function Status({ of }: { readonly of: Shown }) {
  const { status, refunded_amount: refunded, original_currency: currency } = of;
  const tone = { succeeded: "good", refunded: "waiting", disputed: "bad" }[status];
  const isPart = status === "succeeded" && refunded > 0;
  return (
    <span class={`status ${tone}`}>
      {words(status)}
      {isPart ? <span class="soft"> −{money(refunded, currency)}</span> : null}
    </span>
  );
}
