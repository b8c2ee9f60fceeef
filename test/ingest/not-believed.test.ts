/** A call Apple did not sign for this app: the caller gets a code, the log the failed check. */
import Router from "@koa/router";
import { expect } from "chai";
import { webhookRoute } from "../../ingest/webhooks.js";
import { appleNotification, notificationBody, transactionInfo } from "../../ops/payloads/apple.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import { createApple } from "../../providers/apple/index.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { withApp } from "../harness/bare-app.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { keptLog } from "../harness/kept-log.js";
import { providers } from "../harness/provider-cases.js";

describe("A webhook call that is not believed", () => {
  const endpoints = suiteEndpoints();
  const { logger, lines } = keptLog("warn");

  it("should be logged with the failed check and nothing it holds, once for many", async () => {
    const signer = makeTestChain();
    const { webhook_path: path, id } = await endpoints.integrate("apple", {
      bundle_id: "com.example.atlas",
      root_certificates: [signer.x5c[2]],
    });
    const app = { bundleId: "com.example.other", appAppleId: 1, environment: "Sandbox" as const };
    const [at, originalId] = [Date.now(), "2000000411"];
    const bought = {
      id: "1",
      originalId,
      product: "pro",
      purchasedAt: at,
      expiresAt: null,
      signedAt: at,
    };
    const transaction = transactionInfo(app, { ...bought, price: 9n, currency: "USD" });
    const given = { id: "n-1", type: "SUBSCRIBED", signedAt: at, transaction };
    const body = notificationBody(appleNotification(app, given));
    const { headers, body: signed } = createApple().sign(body, signer, at);

    const hashAccount = await accountHasher(endpoints.service.postgres, endpoints.service.vault);
    const service = { ...endpoints.service, hashAccount, logger };
    const router = new Router();
    router.post("/v1/webhooks/:token", webhookRoute(service, providers));
    await withApp(router, logger, async (base) => {
      for (let call = 0; call < 3; call += 1) {
        const init = { method: "POST", headers, body: new Uint8Array(signed) };
        const answer = await fetch(base + path, init);
        expect(answer.status).to.equal(401);
        expect(await answer.text())
          .to.include("signature_mismatch")
          .and.not.include("bundleId");
      }
    });
    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0] ?? "")).to.include({
      level: "warn",
      provider: "apple",
      integration: id,
      code: "signature_mismatch",
      detail: "bundleId is not the integration's bundle_id",
    });
    expect(lines[0]).to.not.include(originalId).and.not.include("com.example");
  });
});
