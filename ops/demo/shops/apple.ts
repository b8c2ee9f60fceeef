import { getAlpha2Codes } from "i18n-iso-countries/index.js";
import {
  appleNotification,
  notificationBody,
  renewalInfo,
  transactionInfo,
} from "../../payloads/apple.js";
import { knownExponentOf } from "../../../schemas/money/money.js";
import { monthsAfter } from "../calendar.js";
import { appOfDemo } from "../integrations.js";
import type { Sale, Shop } from "./shop.js";

const product = "demo.ios.pro";
/** Active, expired. */
const statuses = { SUBSCRIBED: 1, DID_RENEW: 1, EXPIRED: 2 } as const;
type Type = keyof typeof statuses;

export const appleShop: Shop = {
  provider: "apple",
  sells: "memberships",
  prices: { USD: 1_299n, EUR: 1_299n, GBP: 1_199n, JPY: 2_000n },
  sale: (sale, until) => [notification("SUBSCRIBED", sale.at, sale, sale, until)],
  renewal: (sale, { first, until }) => [notification("DID_RENEW", sale.at, sale, first, until)],
  end: (at, { first }) => {
    const last = { ...first, at: monthsAfter(at, -1) };
    return [notification("EXPIRED", at, last, first, at)];
  },
};

const subtypes: Readonly<Partial<Record<Type, string>>> = {
  SUBSCRIBED: "INITIAL_BUY",
  EXPIRED: "VOLUNTARY",
};

function notification(type: Type, at: number, sale: Sale, first: Sale, until: number): Buffer {
  const originalId = String(first.number);
  const subtype = subtypes[type];
  const transaction = transactionInfo(appOfDemo, {
    id: String(sale.number),
    originalId,
    product,
    purchasedAt: sale.at,
    expiresAt: until,
    signedAt: at,
    price: thousandths(sale),
    currency: sale.currency,
    storefront: getAlpha2Codes()[sale.country] ?? "USA",
    reason: type === "DID_RENEW" ? "RENEWAL" : "PURCHASE",
  });
  const renewal = renewalInfo(appOfDemo, { originalId, product, signedAt: at });
  return notificationBody(
    appleNotification(appOfDemo, {
      id: `${type}-${sale.tag}`,
      type,
      ...(subtype === undefined ? {} : { subtype }),
      signedAt: at,
      status: statuses[type],
      transaction,
      renewal,
    }),
  );
}

/** Apple counts in thousandths of the currency's unit. */
function thousandths({ amount, currency }: Sale): bigint {
  return amount * 10n ** BigInt(3 - knownExponentOf(currency));
}
