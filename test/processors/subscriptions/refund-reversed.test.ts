/** A refund that Apple reverses leaves MRR as it was; one that it does not has ended it. */
import { expect } from "chai";
import {
  appleNotification,
  type AppInput,
  notificationBody,
  type TransactionInput,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { createApple } from "../../../providers/apple/index.js";
import { suiteEndpoints } from "../../harness/endpoints.js";

const apple = createApple();
const signer = makeTestChain();
const app: AppInput = { bundleId: "com.example.atlas", appAppleId: 1, environment: "Production" };

describe("A refund that ends a subscription", () => {
  const endpoints = suiteEndpoints();

  it("should be undone by its reversal only, which brings price and rate back", async () => {
    const { webhook_path: path } = await endpoints.integrate("apple", {
      bundle_id: app.bundleId,
      root_certificates: [signer.x5c[2]],
    });
    const notify = async (
      type: string,
      at: string,
      status: number,
      more: Partial<TransactionInput> = {},
    ) => {
      const transaction = transactionInfo(app, {
        id: "1",
        originalId: "1",
        product: "atlas.pro.yearly",
        purchasedAt: Date.parse("2025-01-10"),
        expiresAt: Date.parse("2026-01-10"),
        signedAt: Date.parse(at),
        price: 120_000n,
        currency: "USD",
        ...more,
      });
      const given = { id: `n-${at}`, type, status, signedAt: Date.parse(at), transaction };
      const body = notificationBody(appleNotification(app, given));
      const answer = await endpoints.post(path, apple.sign(body, signer, Date.now()));
      expect(answer.status, answer.text).to.equal(200);
    };
    await notify("SUBSCRIBED", "2025-01-10", 1);
    await notify("REFUND", "2025-02-10", 5, { revokedAt: Date.parse("2025-02-10") });
    await notify("REFUND_REVERSED", "2025-06-10", 1);
    await notify("REFUND", "2025-06-13", 5, { revokedAt: Date.parse("2025-06-13") });
    const [purchasedAt, expiresAt] = [Date.parse("2025-06-16"), Date.parse("2026-06-16")];
    await notify("SUBSCRIBED", "2025-06-16", 1, { id: "2", purchasedAt, expiresAt });
    await endpoints.booked();
    const mrrAt = async (at: string): Promise<unknown> => {
      const { json } = await endpoints.get(`/v1/metrics/mrr?at=${at}T12:00:00Z`);
      return json.data.current_mrr;
    };
    // 10 USD a month at 1.0309 USD for 1 EUR, of 9 January; in June it was 1.1429.
    expect(await mrrAt("2025-01-11")).to.equal(9.7);
    expect(await mrrAt("2025-02-11")).to.equal(0);
    expect(await mrrAt("2025-06-11")).to.equal(9.7);
    expect(await mrrAt("2025-06-14")).to.equal(0);
    // At 1.1512 of 13 June: who subscribes again had left.
    expect(await mrrAt("2025-06-17")).to.equal(8.69);
  });
});
