import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { timeText } from "../events/evidence.js";
import { showMrr } from "../reading/amounts.js";
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import type { AccountRow, AccountSubscriptionRow } from "./query.js";
import { type Account, type AccountSubscription, account } from "./schema.js";

export function presentAccount(row: AccountRow, currency: string): Account {
  const mrr = mrrOf(row.worth);
  return {
    id: row.account,
    provider: account.shape.provider.parse(row.provider),
    vintage: row.vintage_month,
    first_at: timeText(row.first_at_ms),
    last_at: timeText(row.last_at_ms),
    active: mrr > 0n,
    mrr: showMrr(mrr, currency),
    mrr_exact: exactMrr(mrr),
    starting_mrr: showMrr(mrrOf(row.began), currency),
    currency,
  };
}

export function presentAccountSubscription(
  row: AccountSubscriptionRow,
  catalogue: Catalogue,
  baseCurrency: string,
): AccountSubscription {
  const { provider, external_id: externalId } = row;
  const product = catalogue.productOf({ provider, externalId });
  const mrr = mrrOf(row.worth);
  return {
    subscription: row.subscription,
    product_id: product.id,
    product_name: product.name,
    external_id: externalId,
    currency: row.currency,
    country: row.country,
    mrr: showMrr(mrr, baseCurrency),
    active: mrr > 0n,
    first_at: timeText(row.first_at_ms),
    last_at: timeText(row.last_at_ms),
  };
}
