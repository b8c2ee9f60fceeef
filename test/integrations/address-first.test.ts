/** An integration whose URL is known before its secret: by hand, and by the provider's API. */
import { expect } from "chai";
import { apiKey, endpointKey, send } from "../apis/stripe-api.js";
import {
  newStripeEvent,
  signingSecret,
  stripe,
  suiteEndpoints,
  type Answer,
} from "../harness/endpoints.js";

const endpoints = suiteEndpoints();

describe("An integration without its secret", () => {
  const connect = async (environment = "Production"): Promise<Answer["json"]> => {
    const body = { provider: "stripe", environment, credentials: null };
    const { status, json, text } = await endpoints.manage(
      "POST",
      `${endpoints.path}/integrations`,
      body,
    );
    expect(status, text).to.equal(201);
    return json.data;
  };
  const pathOf = (id: string): string => `${endpoints.path}/integrations/${id}`;
  const stateOf = async (id: string): Promise<unknown> => {
    const { json } = await endpoints.manage("GET", `${endpoints.path}/integrations?limit=200`);
    return json.data.find((row: { id: string }) => row.id === id).health.state;
  };
  const deliver = (where: string, secret: string): Promise<Answer> => {
    const body = Buffer.from(JSON.stringify(newStripeEvent()));
    return endpoints.post(where, stripe.sign(body, { signing_secret: secret }, Date.now()));
  };

  it("should have its URL, and refuse what comes until the secret is entered", async () => {
    const { id, webhook_path: where } = await connect();
    expect(await stateOf(id)).to.equal("unfinished");
    const early = await deliver(where, signingSecret);
    expect(early.status).to.equal(401);
    expect(early.json.error.code).to.equal("credentials_missing");
    expect(early.json.error.message).to.match(/^The signing secret .* is not entered yet\./);

    const credentials = { signing_secret: signingSecret };
    const entered = await endpoints.manage("PATCH", pathOf(id), { credentials });
    expect(entered.status, entered.text).to.equal(200);
    // Nothing was before: only the one entered counts.
    expect(entered.json.data.old_credentials_valid_until).to.equal(null);
    expect((await deliver(where, signingSecret)).status).to.equal(200);
    expect((await deliver(where, "null")).status).to.equal(401);
    expect(await stateOf(id)).to.not.equal("unfinished");
  });

  it("should still be told what is missing, in the credentials or of them", async () => {
    for (const [given, param] of [
      [{ credentials: {} }, "credentials.signing_secret"],
      [{}, "credentials"],
    ] as const) {
      const body = { provider: "stripe", environment: "Test", ...given };
      const answer = await endpoints.manage("POST", `${endpoints.path}/integrations`, body);
      expect(answer.status).to.equal(422);
      expect(answer.json.error.param).to.equal(param);
    }
  });

  it("should make its endpoint at Stripe by an API key, and take what is signed", async () => {
    const { id, webhook_path: where, webhook_url: url } = await connect();
    const path = `${pathOf(id)}/endpoint`;
    const made = await endpoints.manage("POST", path, { api_key: endpointKey });
    expect(made.status, made.text).to.equal(200);
    expect(made.text).to.not.match(/whsec_|rk_live/);

    const known = [...endpoints.stripeApi.webhookEndpoints.values()];
    const found = known.find((one) => one.url === url);
    const providers = (await endpoints.manage("GET", "/providers")).json.data;
    const listed = providers.find((one: { provider: string }) => one.provider === "stripe");
    expect(listed.makes_endpoint).to.equal(true);
    expect(found?.enabled_events).to.deep.equal(listed.subscribe_to);
    expect((await deliver(where, found?.secret ?? "")).status).to.equal(200);
    expect((await deliver(where, signingSecret)).status).to.equal(401);

    const again = await endpoints.manage("POST", path, { api_key: endpointKey });
    expect(again.status).to.equal(409);
    expect(endpoints.stripeApi.webhookEndpoints.size).to.equal(known.length);
  });

  const refusedKeys: [what: string, environment: string, key: string, code: string][] = [
    ["unknown to Stripe", "Production", "rk_nobody", "api_key_unknown"],
    ["without the right to it", "Production", apiKey, "api_key_not_allowed"],
    ["of the other mode", "Test", endpointKey, "api_key_environment"],
  ];
  for (const [what, environment, key, code] of refusedKeys) {
    it(`should say that a key is ${what}, and stay as it was`, async () => {
      const { id } = await connect(environment);
      const { status, json, text } = await endpoints.manage("POST", `${pathOf(id)}/endpoint`, {
        api_key: key,
      });
      expect(status, text).to.equal(422);
      expect(json.error).to.include({ code, param: "api_key" });
      expect(text).to.not.include(key);
      expect(await stateOf(id)).to.equal("unfinished");
    });
  }

  const refusals: [what: string, status: number, body: object, answered: number, said: RegExp][] = [
    ["a reason", 400, { error: { message: "Invalid URL" } }, 422, /endpoint: Invalid URL/],
    ["trouble", 500, {}, 503, /cannot be reached: answered 500/],
  ];
  for (const [what, status, body, answered, said] of refusals) {
    it(`should pass on ${what} of Stripe`, async () => {
      const { id } = await connect();
      endpoints.stripeApi.misbehave = ({ url }, response) => {
        if (url !== "/v1/webhook_endpoints") return false;
        send(response, status, body);
        return true;
      };
      try {
        const answer = await endpoints.manage("POST", `${pathOf(id)}/endpoint`, {
          api_key: endpointKey,
        });
        expect(answer.status, answer.text).to.equal(answered);
        expect(answer.json.error.message).to.match(said);
      } finally {
        endpoints.stripeApi.misbehave = null;
      }
      expect(await stateOf(id)).to.equal("unfinished");
    });
  }

  it("should not be made at a provider whose API cannot", async () => {
    const { id } = await endpoints.integrate("custom", {});
    const path = `${pathOf(id)}/endpoint`;
    const { status, json } = await endpoints.manage("POST", path, { api_key: "k" });
    expect(status).to.equal(422);
    expect(json.error.code).to.equal("endpoint_unsupported");
  });
});
