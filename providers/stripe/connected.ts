/**
 * Connected accounts. Their merchants may choose the ids of products and coupons, so each account's
 * are its own and have its id in front, as its customers have.
 */
import type { FactBody, Line } from "../../schemas/records/records.js";

/** @param account acct_…; null: the platform's own, whose ids stand as they are */
export function idIn(account: string | null, id: string): string {
  return account === null ? id : `${account}:${id}`;
}

export function withOwnSkus(body: FactBody, account: string | null): FactBody {
  if (account === null) return body;
  const own = <Named extends Pick<Line, "external_id">>(named: Named): Named => ({
    ...named,
    external_id: named.external_id && idIn(account, named.external_id),
  });
  if ("Sku" in body) return { Sku: own(body.Sku) };
  if ("Purchase" in body) {
    return { Purchase: { ...body.Purchase, lines: body.Purchase.lines.map(own) } };
  }
  if ("Subscription" in body) {
    const steps = body.Subscription.steps.map(({ at, items }) => ({ at, items: items.map(own) }));
    return { Subscription: { ...body.Subscription, steps } };
  }
  // Payments, refunds and disputes of Stripe name no products.
  return body;
}
