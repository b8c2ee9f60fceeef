/** The kinds of lists that booking keeps, and their items. */
import { type Fact, factRecords } from "../../../schemas/records/records.js";
import type { RecordedRow } from "../account/recorded.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import type { Side } from "../subscriptions/pairing.js";
import type { EndRevision } from "../subscriptions/pools.js";
import type { Kind } from "./lists.js";

/**
 * By the key of a payment or purchase (`schemas/money-keys.ts`): its facts, in order of arrival.
 */
export const moneyFacts: Kind<Fact> = {
  letter: "m",
  encode: (fact) => factRecords.encode(fact),
  decode: (stored) => factRecords.decode(stored),
};

/**
 * By account: its changes, and the corrections among its movements. What its events recorded first
 * follows from these.
 */
export type AccountItem = { readonly change: Change } | { readonly correction: RecordedRow };
export const accounts: Kind<AccountItem> = {
  letter: "a",
  ...asJson<AccountItem>(),
  decode(stored) {
    const item: AccountItem = JSON.parse(stored.toString());
    if ("change" in item) return item;
    // Earlier versions kept corrections without an interval.
    return {
      correction: { ...item.correction, plan_interval: item.correction.plan_interval ?? "unknown" },
    };
  },
};

/** By subscription: the accounts it was reported under. */
export const subscriptionAccounts: Kind<string> = { letter: "s", ...asJson<string>() };

/**
 * By pool of unidentified churns: its sides, the revisions of the ends they made, and which churns
 * are listed as waiting.
 */
export type PoolItem =
  | { readonly side: Side }
  | { readonly end: EndRevision }
  | { readonly listed: string; readonly isListed: boolean };
export const pools: Kind<PoolItem> = { letter: "p", ...asJson<PoolItem>() };

function asJson<Item>(): Pick<Kind<Item>, "encode" | "decode"> {
  return {
    encode: (item) => Buffer.from(JSON.stringify(item)),
    decode: (stored): Item => JSON.parse(stored.toString()),
  };
}
