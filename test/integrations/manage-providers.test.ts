import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { openIntegrationCalls } from "../../workspaces/integration-calls.js";
import { createChargebee } from "../../providers/chargebee/index.js";
import { createCustom } from "../../providers/custom/index.js";
import { recordBody } from "../../ops/payloads/custom.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { newStripeEvent, signingSecret, stripe, suiteEndpoints } from "../harness/endpoints.js";

const endpoints = suiteEndpoints();

describe("The list of providers", () => {
  interface Listed {
    readonly provider: string;
    readonly name: string;
    readonly docs_path: string;
    readonly not_reconciled: string | null;
    readonly history: boolean;
    readonly subscribe_to: readonly string[];
    readonly credentials: readonly Readonly<Record<string, unknown>>[];
  }
  const list = async (): Promise<Listed[]> => {
    const { data } = (await endpoints.manage("GET", "/providers")).json;
    return data;
  };

  it("should have every provider, with events to choose and a page that says how", async () => {
    const listed = await list();
    expect(listed.map(({ provider }) => provider)).to.have.members([...providerTokens]);
    for (const { name, docs_path, subscribe_to } of listed) {
      expect(subscribe_to, name).to.not.deep.equal([]);
      const page = await endpoints.call(docs_path);
      expect(page.status).to.equal(200);
      expect(page.text).to.match(new RegExp(`<h1[^>]*>${name}</h1>`));
      expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
    }
  });

  it("should be compared and fetch what is missing, or say why not and what to do", async () => {
    const listed = await list();
    const without = listed.filter(({ not_reconciled: why }) => why !== null);
    const names = without.map(({ provider }) => provider);
    expect(names).to.have.members(["apple", "custom", "google", "revenuecat"]);
    for (const { provider, not_reconciled: why, history } of listed) {
      if (why === null) expect(history, provider).to.equal(true);
      else expect(why, provider).to.include("missing");
    }
  });

  const fields: [provider: string, name: string, required: boolean, type: string][] = [
    ["stripe", "signing_secret", true, "text"],
    ["stripe", "api_key", false, "text"],
    ["paddle", "api_environment", false, "text"],
    ["lemonsqueezy", "signing_secret", true, "text"],
    ["revenuecat", "authorization", false, "text"],
    ["gumroad", "seller_id", true, "text"],
    ["apple", "bundle_id", true, "text"],
    ["apple", "app_apple_id", false, "text"],
    ["apple", "root_certificates", false, "list"],
    ["apple", "private_key", false, "text"],
    ["google", "service_account_key", false, "object"],
    ["polar", "access_token", false, "text"],
    ["chargebee", "username", false, "text"],
    // Made when they are left out.
    ["chargebee", "password", false, "text"],
    ["custom", "signing_secret", false, "text"],
  ];
  for (const [provider, name, required, type] of fields) {
    it(`should report ${name} of ${provider} that it is ${type}`, async () => {
      const found = (await list()).find((one) => one.provider === provider);
      const field = found?.credentials.find((one) => one["name"] === name);
      expect(field).to.include({ name, required, type });
      expect(field?.["help"]).to.be.a("string").with.length.greaterThan(20);
    });
  }

  it("should make the password of Chargebee, by which calls are believed", async () => {
    const given = { provider: "chargebee", environment: "Production", credentials: {} };
    const made = await endpoints.manage("POST", `${endpoints.path}/integrations`, given);
    expect(made.status, made.text).to.equal(201);
    const { credentials, webhook_path: path } = made.json.data;
    const body = Buffer.from(
      '{"id":"ev_1","event_type":"plan_created","occurred_at":1,"content":{}}',
    );
    const post = async (password: string) => {
      const { status } = await endpoints.post(
        path,
        createChargebee().sign(body, { username: "chargebee", password }, Date.now()),
      );
      return status;
    };
    expect(await post(credentials.password)).to.equal(200);
    expect(await post(`${credentials.password}x`)).to.equal(401);
  });

  it("should say of every field where to find it", async () => {
    const silent = (await list()).flatMap(({ provider, credentials }) =>
      credentials
        .filter(({ help }) => typeof help !== "string")
        .map(({ name }) => `${provider} ${String(name)}`),
    );
    expect(silent).to.deep.equal([]);
  });

  it("should be shown to the administrator only", async () => {
    const answer = await endpoints.get("/v1/manage/providers", endpoints.key);
    expect(answer.status).to.equal(401);
  });
});

describe("An integration's health", () => {
  const newStripe = () => endpoints.integrate("stripe", { signing_secret: signingSecret });
  /** Looks until it is as it should be: counts are written beside the calls. */
  const expectHealth = async (id: string, expected: object) => {
    const until = Date.now() + 20_000;
    for (;;) {
      const path = `${endpoints.path}/integrations?limit=200`;
      const { data } = (await endpoints.manage("GET", path)).json;
      const { health } = data.find((row: { id: string }) => row.id === id);
      try {
        expect(health).to.include(expected);
        return health;
      } catch (error) {
        if (Date.now() > until) throw error;
      }
      await pause(50);
    }
  };
  const post = (where: string, secret: string) => {
    const body = Buffer.from(JSON.stringify(newStripeEvent()));
    return endpoints.post(where, stripe.sign(body, { signing_secret: secret }, Date.now()));
  };

  it("should wait for the first call", async () => {
    const { id } = await newStripe();
    await expectHealth(id, {
      state: "waiting",
      deliveries: 0,
      last_delivery_at: null,
      refused: 0,
      last_refused_reason: null,
      open_rejects: 0,
      last_reject_reason: null,
    });
  });

  it("should say when calls are taken, and that they are refused, and why", async () => {
    const { id, webhook_path: where } = await newStripe();
    const since = Date.now();
    expect((await post(where, signingSecret)).status).to.equal(200);
    const taken = await expectHealth(id, { state: "receiving", deliveries: 1, refused: 0 });
    expect(Date.parse(taken.last_delivery_at)).to.be.within(since, Date.now());
    expect((await post(where, "whsec_of_somebody")).status).to.equal(401);
    const refused = await expectHealth(id, { state: "refused", deliveries: 1, refused: 1 });
    expect(refused.last_refused_reason).to.equal("signature_mismatch");
  });

  it("should say what it delivered and could not be booked", async () => {
    const { id, webhook_path: where, credentials } = await endpoints.integrate("custom", {});
    const body = recordBody({
      eventType: "transaction.sale",
      amountMinor: 500n,
      currency: "EUR",
      more: { colour: "red" },
    });
    const custom = createCustom({ toleranceSeconds: 300 });
    const { headers } = custom.sign(body, credentials, Date.now());
    expect((await endpoints.call(where, { method: "POST", headers, body })).status).to.equal(200);
    const health = await expectHealth(id, { deliveries: 1, open_rejects: 1 });
    expect(health).to.include({ state: "receiving", last_reject_reason: "field_unknown" });
    expect(health.last_reject_at).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    await expectHealth((await newStripe()).id, { open_rejects: 0 });
  });

  it("should say when nothing came for a week", async () => {
    const { id, webhook_path: where } = await newStripe();
    expect((await post(where, signingSecret)).status).to.equal(200);
    await expectHealth(id, { state: "receiving" });
    await endpoints.service.postgres.query(
      "UPDATE integration_calls SET last_at = last_at - interval '8 days' WHERE integration = $1",
      [id],
    );
    await expectHealth(id, { state: "quiet", deliveries: 1 });
  });

  it("should add up what was counted between two writes, all of it at the end", async () => {
    const { id } = await newStripe();
    const { postgres, logger } = endpoints.service;
    const calls = openIntegrationCalls({ postgres, logger, writeEveryMs: 60_000 });
    for (let call = 0; call < 5; call += 1) calls.count(id, "taken");
    for (let call = 0; call < 3; call += 1) calls.count(id, "signature_stale");
    calls.count(id, "event_unrecognized");
    await calls.close();
    const health = await expectHealth(id, { deliveries: 5, refused: 4 });
    expect(health.last_refused_reason).to.be.oneOf(["signature_stale", "event_unrecognized"]);
  });
});
