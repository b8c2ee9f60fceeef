/** A payout as the interface opens it. */
import { expect } from "chai";
import type { OpenedPayoutView } from "../../schemas/http/payouts.js";
import type { Endpoints } from "./endpoints.js";

/** What is in it adds up to it, to the cent. @param path of the integration's payouts */
export async function openedPayout(
  { manage }: Pick<Endpoints, "manage">,
  path: string,
  id: string,
): Promise<OpenedPayoutView> {
  const answer = await manage("GET", `${path}/${encodeURIComponent(id)}`);
  expect(answer.status, answer.text).to.equal(200);
  const found: OpenedPayoutView = answer.json.data;
  const sum = found.sums.reduce((all, { amount_minor: amount }) => all + amount, 0);
  expect(sum).to.equal(found.amount_minor);
  const own = found.lines.filter(({ currency }) => currency === found.currency);
  expect(own.reduce((all, { net_minor: net }) => all + net, 0)).to.equal(found.amount_minor);
  return found;
}

export function kindsOf({ sums }: OpenedPayoutView): Record<string, number> {
  return Object.fromEntries(sums.map(({ kind, amount_minor: amount }) => [kind, amount]));
}
