/** Which transactions a provider's own id stands for. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { purchaseKey, transactionId } from "../../schemas/ids.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { factCodec } from "../../schemas/records/records.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type LinkedFactRow, factsOfPurchaseQuery } from "../transaction/payment-facts.js";

/**
 * The transactions of the payment with that id, of the payments of a purchase with it (an invoice,
 * an order, a checkout session), and of a lone refund with it, at any provider. Most of these ids
 * belong to no transaction.
 * @param text the provider's id, or the id of a transaction
 */
export async function transactionsNamed(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  text: string,
): Promise<string[]> {
  const query = factsOfPurchaseQuery(asOf, purchaseKey(text));
  const rows = await rowsOf<LinkedFactRow>({ clickhouse }, query);
  const linked = rows.flatMap(({ provider, fact }) => {
    const { body } = factCodec.fromText(fact);
    return "Link" in body ? [{ provider, payment: body.Link.payment }] : [];
  });
  const named = providerTokens.flatMap((provider) => [
    { provider, payment: text },
    { provider, payment: `refund:${text}` },
  ]);
  const { workspace, environment } = asOf;
  const ids = [...named, ...linked].map(({ provider, payment }) =>
    transactionId(workspace, environment, provider, payment),
  );
  return [...new Set([text, ...ids])];
}
