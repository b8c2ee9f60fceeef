/** An adapter that throws at the endpoints: its event is refused by itself, others are taken. */
import Router from "@koa/router";
import { expect } from "chai";
import { requireKey } from "../../http/auth.js";
import { ingestRoute } from "../../ingest/events.js";
import { openReceipts } from "../../ingest/idempotency.js";
import { webhookRoute } from "../../ingest/webhooks.js";
import type { Provider, ProviderToken } from "../../providers/provider.js";
import { keptLog } from "../harness/kept-log.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { withApp } from "../harness/bare-app.js";
import { newStripeEvent, signingSecret, stripe, suiteEndpoints } from "../harness/endpoints.js";
import { providers } from "../harness/provider-cases.js";

type FailsIn = "heading" | "decode" | "verify";

describe("An adapter that fails at the endpoints", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  const { logger, lines } = keptLog("error");
  const logged = (): { request_id: string; err: { stack: string }; failed?: number }[] =>
    lines.map((line) => JSON.parse(line));

  /** The real routes on the real stores; Stripe's adapter fails on events called `bad`. */
  async function failing(failsIn: FailsIn, use: (base: string) => Promise<void>): Promise<void> {
    lines.length = 0;
    const hashAccount = await accountHasher(endpoints.service.postgres, endpoints.service.vault);
    const service = { ...endpoints.service, hashAccount, logger };
    const known: ReadonlyMap<ProviderToken, Provider> = new Map([
      ...providers,
      ["stripe", failingOn("bad", failsIn)],
    ]);
    const receipts = openReceipts(service);
    const router = new Router();
    router.post("/v1/webhooks/:token", webhookRoute(service, known));
    router.post(
      "/v1/events/ingest",
      requireKey(service, { scope: "ingest" }),
      ingestRoute({ service, providers: known, receipts }),
    );
    try {
      await withApp(router, logger, use);
    } finally {
      await receipts.close();
    }
  }

  const ingest = (base: string, type: string, body: string): Promise<Response> =>
    fetch(`${base}/v1/events/ingest`, {
      method: "POST",
      headers: { authorization: `Bearer ${endpoints.key}`, "content-type": type },
      body,
    });
  const native = (name: string) => {
    const payload = newStripeEvent({ object: "event" });
    Object.assign(payload.data.object, { name });
    return JSON.stringify({ provider: "stripe", event_type: payload.type, payload });
  };
  const sale = (event_id: string): string => {
    const event = { provider: "custom", event_type: "transaction.sale", amount: 5 };
    return JSON.stringify({ ...event, currency: "EUR", event_id });
  };

  for (const failsIn of ["heading", "decode"] as const) {
    it(`should refuse its own line of a batch and take the others (in ${failsIn})`, async () => {
      const takenBefore = await endpoints.taken();
      await failing(failsIn, async (base) => {
        const batch = [sale(`1 ${failsIn}`), native("bad"), native("good"), native("bad")];
        const answer = await ingest(base, "application/x-ndjson", batch.join("\n"));
        const said = (await answer.text()).trim();
        expect(answer.status, said).to.equal(200);
        const answers = said.split("\n").map((line) => JSON.parse(line));
        expect(answers.map(({ line, status, error }) => [line, status, error?.code])).to.deep.equal(
          [
            [1, "success", undefined],
            [2, "error", "internal_error"],
            [3, "success", undefined],
            [4, "error", "internal_error"],
          ],
        );
        const { type, request_id } = answers[1].error;
        expect(type).to.equal("internal");
        expect(request_id).to.equal(answer.headers.get("x-request-id"));
        expect(logged().map((entry) => [entry.request_id, entry.failed])).to.deep.equal([
          [request_id, 2],
        ]);
        expect(lines[0]).to.contain("the adapter's own mistake");
      });
      expect((await endpoints.taken()) - takenBefore).to.equal(2n);
    });
  }

  it("should answer a single event 500 and take the next one", async () => {
    await failing("heading", async (base) => {
      const answer = await ingest(base, "application/json", native("bad"));
      const { error } = JSON.parse(await answer.text());
      expect([answer.status, error.code]).to.deep.equal([500, "internal_error"]);
      expect(logged().map((entry) => entry.request_id)).to.deep.equal([error.request_id]);
      expect((await ingest(base, "application/json", native("good"))).status).to.equal(202);
    });
  });

  const calls: [failsIn: FailsIn, answered: number][] = [
    ["heading", 500],
    ["verify", 500],
    // It is durable by then: normalizing makes it a reject.
    ["decode", 200],
  ];
  for (const [failsIn, answered] of calls) {
    it(`should lose no webhook: failing in ${failsIn} it is answered ${answered}`, async () => {
      const takenBefore = await endpoints.taken();
      await failing(failsIn, async (base) => {
        const call = async (name: string): Promise<Response> => {
          const event = newStripeEvent();
          Object.assign(event.data.object, { name });
          const body = Buffer.from(JSON.stringify(event));
          const signed = stripe.sign(body, { signing_secret: signingSecret }, Date.now());
          const init = { method: "POST", headers: signed.headers, body };
          return fetch(base + endpoints.webhook, init);
        };
        const answer = await call("bad");
        expect(answer.status).to.equal(answered);
        if (answered === 500) {
          const { error } = JSON.parse(await answer.text());
          expect(error.code).to.equal("internal_error");
          expect(logged().map((entry) => entry.request_id)).to.deep.equal([error.request_id]);
          expect(lines[0]).to.contain("the adapter's own mistake");
        }
        expect((await call("good")).status).to.equal(200);
      });
      const taken = answered === 500 ? 1n : 2n;
      expect((await endpoints.taken()) - takenBefore).to.equal(taken);
    });
  }
});

function failingOn(name: string, failsIn: FailsIn): Provider {
  const fail = (part: FailsIn, said: string): void => {
    if (part === failsIn && said.includes(`"name":"${name}"`)) {
      throw new TypeError("the adapter's own mistake");
    }
  };
  const adapter: Provider = stripe;
  return {
    ...adapter,
    verify: (delivery, credentials, now) => {
      fail("verify", delivery.body.toString());
      return adapter.verify(delivery, credentials, now);
    },
    heading: (body) => {
      fail("heading", JSON.stringify(body));
      return adapter.heading(body);
    },
    decode: (body, known) => {
      fail("decode", JSON.stringify(body));
      return adapter.decode(body, known);
    },
  };
}
