/** A subscription of the App Store that took another's place, as MRR is read of both. */
import { expect } from "chai";
import { createApple } from "../../../providers/apple/index.js";
import {
  appleNotification,
  type AppInput,
  notificationBody,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { openEndpoints } from "../../harness/endpoints.js";

const dayMs = 86_400_000;
const now = Date.now();
const signer = makeTestChain();
const app: AppInput = { bundleId: "com.example.next", appAppleId: 1, environment: "Production" };

interface Reported {
  readonly type: string;
  readonly id: string;
  readonly transaction?: string;
  readonly previousId?: string;
  readonly price: bigint;
  readonly daysAgo: number;
}

function reported({ type, id, transaction = id, price, daysAgo, ...more }: Reported) {
  const at = now - daysAgo * dayMs;
  const notification = appleNotification(app, {
    id: `n-${type}-${transaction}`,
    type,
    status: 1,
    signedAt: at,
    transaction: transactionInfo(app, {
      ...more,
      id: transaction,
      originalId: id,
      product: "pro",
      purchasedAt: at,
      expiresAt: at + 30 * dayMs,
      signedAt: at,
      price,
      currency: "EUR",
    }),
  });
  const body = createApple().sign(notificationBody(notification), signer, at).body.toString();
  const payload: unknown = JSON.parse(body);
  return { provider: "apple", event_type: type, payload };
}

describe("A subscription of the App Store that took another's place", () => {
  const one = reported({ type: "SUBSCRIBED", id: "71", price: 10_000n, daysAgo: 20 });
  const bundled = { id: "72", previousId: "71", price: 15_000n };
  const bundle = reported({ ...bundled, type: "SUBSCRIBED", daysAgo: 10 });
  const renewed = reported({ ...bundled, type: "DID_RENEW", transaction: "73", daysAgo: 5 });
  const expired = reported({ ...bundled, type: "EXPIRED", daysAgo: 1 });
  const back = { type: "SUBSCRIBED", id: "71", transaction: "74", previousId: "72" };
  const again = reported({ ...back, price: 10_000n, daysAgo: 2 });
  const cases: readonly [title: string, events: readonly object[], mrr: number][] = [
    ["should count alone", [one, bundle], 15],
    ["should count alone, reported before the one it replaced", [bundle, one], 15],
    ["should count alone where only its renewal was reported", [one, renewed], 15],
    ["should make way for the first one again", [one, bundle, renewed, again], 10],
    ["should make way in whatever order it is reported", [again, renewed, bundle, one], 10],
    ["should end nothing by its end", [one, bundle, again, expired], 10],
  ];
  for (const [title, events, mrr] of cases) {
    it(title, async () => {
      expect(await mrrOf(events)).to.equal(mrr);
    });
  }

  async function mrrOf(events: readonly object[]): Promise<number> {
    const endpoints = await openEndpoints();
    for (const event of events) {
      const { status, text } = await endpoints.ingest(event);
      expect(status, text).to.equal(202);
    }
    await endpoints.booked();
    return (await endpoints.get("/v1/metrics/mrr")).json.data.current_mrr;
  }
});
