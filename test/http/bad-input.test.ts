/** The list of bad input: each is answered with what is wrong, takes nothing, and delays nobody. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { limits } from "../../config.js";
import {
  type Answer,
  expectError,
  newStripeEvent,
  signingSecret,
  stripe,
  suiteEndpoints,
} from "../harness/endpoints.js";
import { sendRaw } from "../harness/raw-http.js";

const endpoints = suiteEndpoints();

/** Runs a refused call between two good ones, and sees that only those were taken. */
async function refusing(refused: () => Promise<Answer>): Promise<Answer> {
  const before = await endpoints.taken();
  const answer = await refused();
  expect(await endpoints.taken(), "taken by the refused call").to.equal(before);
  const good = await endpoints.deliver(JSON.stringify(newStripeEvent()));
  expect(good.status, good.text).to.equal(200);
  expect(await endpoints.taken(), "taken by the good call after it").to.equal(before + 1n);
  return answer;
}

describe("Bad webhooks", () => {
  const json = { "content-type": "application/json" };
  const event = () => Buffer.from(JSON.stringify(newStripeEvent()));
  const post = (headers: Record<string, string>, body = event(), path = endpoints.webhook) =>
    endpoints.call(path, { method: "POST", headers, body });
  /** Signed as given; the body may be changed afterwards. */
  const signed = (
    { ageMs = 0, secret = signingSecret, body = event() },
    change = (_body: Buffer): unknown => undefined,
  ) => {
    const { headers } = stripe.sign(body, { signing_secret: secret }, Date.now() - ageMs);
    change(body);
    return post(headers, body);
  };
  const flip = (body: Buffer) => body.writeUInt8(body.readUInt8(10) ^ 1, 10);
  const stream = () => ({
    body: new Blob([Buffer.alloc(2 * limits.bodyBytesMax, " ")]).stream(),
    duplex: "half" as const,
  });
  const deliver = (body: string | Buffer) => endpoints.deliver(body);
  const deep = "[".repeat(100_000) + "]".repeat(100_000);

  const rows: [title: string, error: string, call: () => Promise<Answer>][] = [
    ["no signature", "401 signature_missing", () => post(json)],
    [
      "a signature nobody can read",
      "401 signature_malformed",
      () => post({ ...json, "stripe-signature": "v1" }),
    ],
    ["a forged signature", "401 signature_mismatch", () => signed({ secret: "whsec_guessed" })],
    ["a body changed by one byte", "401 signature_mismatch", () => signed({}, flip)],
    ["a stale signature", "401 signature_stale", () => signed({ ageMs: 6 * 60_000 })],
    [
      "an unknown token",
      "404 webhook_unknown",
      () => post(json, event(), `/v1/webhooks/${"x".repeat(32)}`),
    ],
    [
      "a token with broken escapes",
      "404 webhook_unknown",
      () => post(json, event(), "/v1/webhooks/%E0%A4%A"),
    ],
    ["a GET", "405 method_not_allowed", () => endpoints.call(endpoints.webhook)],
    ["plain text", "415 content_type_unsupported", () => post({ "content-type": "text/plain" })],
    [
      "another charset",
      "415 charset_unsupported",
      () => post({ "content-type": "application/json; charset=utf-16" }),
    ],
    [
      "a compressed body",
      "415 content_encoding_unsupported",
      () => post({ ...json, "content-encoding": "gzip" }),
    ],
    [
      "a body over the limit",
      "413 body_too_large",
      () => signed({ body: Buffer.alloc(limits.bodyBytesMax + 1, " ") }),
    ],
    [
      "an unknown length over the limit",
      "413 body_too_large",
      () => endpoints.call(endpoints.webhook, { method: "POST", headers: json, ...stream() }),
    ],
    ["broken JSON", "400 json_malformed", () => deliver('{"id":')],
    ["JSON that is very deep", "400 json_too_deep", () => deliver(deep)],
    ["__proto__", "400 json_forbidden_key", () => deliver('{"__proto__":{"id":"a"}}')],
    [
      "constructor.prototype",
      "400 json_forbidden_key",
      () => deliver('{"constructor":{"prototype":{}}}'),
    ],
    ["no UTF-8", "400 json_not_utf8", () => deliver(Buffer.from([0x22, 0xff, 0x22]))],
    ["JSON that is no event", "422 event_unrecognized", () => deliver('{"hello":"world"}')],
  ];
  for (const [title, error, call] of rows) {
    it(`should answer ${title} with ${error}`, async () => {
      expectError(await refusing(call), error);
    });
  }

  it("should name each content type once", async () => {
    const answer = await post({ "content-type": "text/plain" });
    expect(answer.json.error.message).to.equal("Send application/json.");
  });

  it("should say of a call of Paddle Classic that it is not supported", async () => {
    const { webhook_path: path } = await endpoints.integrate("paddle", { signing_secret: "pdl_1" });
    const form = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
    const call = (body: string) => refusing(() => post(form, Buffer.from(body), path));
    const answer = await call("alert_name=subscription_created&alert_id=1&p_signature=YQ%3D%3D");
    expectError(answer, "415 paddle_classic_unsupported");
    expect(answer.json.error.message).to.match(/^Paddle Classic is not supported/);
    expectError(await call("alert_name=subscription_created"), "415 content_type_unsupported");
    expectError(await call("a=1&a=2"), "415 content_type_unsupported");
  });

  it("should say which method the path knows", async () => {
    expect((await endpoints.call(endpoints.webhook)).headers.get("allow")).to.equal("POST");
  });

  it("should take a body of exactly the limit", async () => {
    const text = JSON.stringify(newStripeEvent());
    const answer = await endpoints.deliver(text.padEnd(limits.bodyBytesMax, " "));
    expect(answer.status, answer.text).to.equal(200);
  });
});

describe("Bad HTTP", () => {
  const raw = (text: string): Promise<string> => sendRaw(endpoints.base, text);
  const endless = `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`;
  const twoLengths =
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12";
  const rows: [title: string, bytes: string, status: number, code: string][] = [
    ["what is not HTTP", "hello\r\n\r\n", 400, "http_malformed"],
    ["headers without end", endless, 431, "headers_too_large"],
    ["two lengths", twoLengths, 400, "http_malformed"],
    ["no host", "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "host_missing"],
  ];
  for (const [title, bytes, status, code] of rows) {
    it(`should answer ${title} with ${status} in the envelope`, async () => {
      const answer = await raw(bytes);
      expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).to.match(/x-request-id: [-0-9a-f]{36}/i);
      expect(answer).to.include(`"code":"${code}"`);
    });
  }

  it("should take only as much of the body as the length header says", async () => {
    const before = await endpoints.taken();
    const body = JSON.stringify(newStripeEvent());
    const signed = stripe.sign(Buffer.from(body), { signing_secret: signingSecret }, Date.now());
    const headers = Object.entries(signed.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${endpoints.webhook} HTTP/1.1\r\nHost: x\r\n${headers.join("")}`;
    const short = await raw(`${head}Content-Length: 10\r\n\r\n${body}`);
    expect(short).to.match(/^HTTP\/1.1 40[01] /);
    const long = await raw(`${head}Content-Length: ${2 * limits.bodyBytesMax}\r\n\r\n${body}`);
    expect(long).to.match(/^HTTP\/1.1 413 /);
    expect(long).to.match(/connection: close/i);
    expect(await endpoints.taken()).to.equal(before);
  });

  it("should answer unknown paths with 404 in the envelope", async () => {
    for (const path of ["/v1", "/v1/nothing", "/v2/products", "/v1/webhooks"]) {
      expectError(await endpoints.call(path), "404 path_unknown");
    }
  });
});

describe("Bad keys", () => {
  const ingest = (authorization: string | null, path = "/v1/events/ingest") =>
    endpoints.call(path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(authorization === null ? {} : { authorization }),
      },
      body: JSON.stringify(sale()),
    });
  const withKey = (key: string, path?: string) => ingest(`Bearer ${key}`, path);
  const newKey = async (more: object = {}) => {
    const given = { environment: "Production", scope: "Full Ingress", ...more };
    return (await endpoints.manage("POST", `${endpoints.path}/keys`, given)).json.data;
  };
  const revoked = async () => {
    const { id, key } = await newKey();
    expect((await withKey(key)).status).to.equal(202);
    await endpoints.manage("DELETE", `${endpoints.path}/keys/${id}`);
    return withKey(key);
  };
  const expired = async () => {
    const { key } = await newKey({ expires_at: new Date(Date.now() + 300).toISOString() });
    await pause(310);
    return withKey(key);
  };

  const rows: [title: string, error: string, call: () => Promise<Answer>][] = [
    ["no key", "401 key_missing", () => ingest(null)],
    ["another scheme", "401 authorization_malformed", () => ingest(`Basic ${endpoints.key}`)],
    ["a bare key", "401 authorization_malformed", () => ingest(endpoints.key)],
    ["no key at all", "401 key_malformed", () => withKey("hello")],
    ["a mistyped key", "401 key_malformed", () => withKey(endpoints.key.slice(0, -1))],
    ["the administrator token", "401 key_malformed", () => withKey(endpoints.adminToken)],
    [
      "a key in the URL",
      "401 key_in_url",
      () => withKey(endpoints.key, `/v1/events/ingest?key=${endpoints.key}`),
    ],
    ["a revoked key", "401 key_revoked", revoked],
    ["an expired key", "401 key_expired", expired],
    ["a Read-only key", "403 scope_insufficient", () => withKey(endpoints.readKey)],
  ];
  for (const [title, error, call] of rows) {
    it(`should answer ${title} with ${error}`, async () => {
      expectError(await call(), error);
      expect((await endpoints.ingest(sale())).status).to.equal(202);
    });
  }
});

type Fields = Readonly<Record<string, unknown>>;

/** A good form A record without an id. */
function sale(change: Fields = {}): Fields {
  return {
    provider: "custom",
    event_type: "transaction.sale",
    amount: 19.99,
    currency: "USD",
    product_id: "sku_1",
    ...change,
  };
}

describe("Bad events", () => {
  const in2Days = new Date(Date.now() + 2 * 24 * 60 * 60 * 1000).toISOString();
  /** Written by hand where JSON.stringify cannot write it. */
  const withAmount = (amount: string, currency = "USD") =>
    JSON.stringify(sale({ amount: "AMOUNT", currency })).replace('"AMOUNT"', amount);

  const records: [title: string, change: Fields | string, error: string][] = [
    ["a negative amount", { amount: -1 }, "amount_negative amount"],
    ["an infinite amount", withAmount("1e999"), "amount_too_large amount"],
    ["an exponent nobody can write out", withAmount("1e999999999"), "amount_too_large amount"],
    ["an amount as text", { amount: "19.99" }, "amount_not_a_number amount"],
    ["an amount of null", { amount: null }, "amount_not_a_number amount"],
    ["no amount", { amount: undefined }, "field_missing amount"],
    ["a tenth of a cent", { amount: 1.001 }, "amount_too_precise amount"],
    ["half a yen", { amount: 0.5, currency: "JPY" }, "amount_too_precise amount"],
    ["more than can be counted", withAmount("90071992547409.92"), "amount_too_large amount"],
    [
      "more in the base currency than can be counted",
      { amount: 90071992547409, currency: "KWD" },
      "amount_too_large amount",
    ],
    ["an unknown currency", { currency: "XQQ" }, "currency_unknown currency"],
    ["a currency that is a number", { currency: 840 }, "currency_unknown currency"],
    ["an unknown event type", { event_type: "sale" }, "event_type_unknown event_type"],
    ["an unknown provider", { provider: "acme" }, "provider_unknown provider"],
    ["paddle", { provider: "paddle" }, "provider_not_ingestable provider"],
    ["a misspelt field", { curency: "USD" }, "field_unknown curency"],
    [
      "a date of 1999",
      { occurred_at: "1999-12-31T23:59:59Z" },
      "occurred_at_too_early occurred_at",
    ],
    ["a date more than a day ahead", { occurred_at: in2Days }, "occurred_at_in_future occurred_at"],
    ["a date that is none", { occurred_at: "today" }, "occurred_at_invalid occurred_at"],
    ["a country that is none", { customer_country: "Germany" }, "field_invalid customer_country"],
    ["a country ISO does not know", { customer_country: "uk" }, "field_invalid customer_country"],
  ];

  const flat = { id: "evt_flat_1", amount: 4900, currency: "usd" };
  const native = (payload: unknown, more: object = {}) => ({
    provider: "stripe",
    event_type: "checkout.session.completed",
    payload,
    ...more,
  });
  const otherEnvironment = newStripeEvent({ livemode: false });
  const payloads: [title: string, body: unknown, error: string][] = [
    ["no JSON object", "[]", "body_not_an_object body"],
    [
      "a country ISO does not know in a flat payload",
      native({ ...flat, customer_country: "QQ" }),
      "field_invalid payload.customer_country",
    ],
    ["both forms at once", sale({ payload: flat }), "forms_mixed amount"],
    ["an unknown field beside payload", native(flat, { hello: 1 }), "field_unknown hello"],
    ["a payload that is a list", native([]), "field_invalid payload"],
    [
      "an unknown native type",
      native(flat, { event_type: "hello.world" }),
      "event_type_unknown event_type",
    ],
    ["a native type without payload", native(undefined), "event_type_unknown event_type"],
    [
      "a flat payload with cents of a cent",
      native({ ...flat, amount: 49.5 }),
      "amount_too_precise payload.amount",
    ],
    ["form B of paddle", native(flat, { provider: "paddle" }), "provider_not_ingestable provider"],
    [
      "a payload of the other environment",
      native(otherEnvironment, { event_type: "product.created" }),
      "environment_conflict payload",
    ],
    [
      "a payload of another type than it says",
      native(newStripeEvent()),
      "event_type_conflict event_type",
    ],
  ];
  const wrong = [
    ...records.map(([title, change, error]) => {
      const body = typeof change === "string" ? change : sale(change);
      return [title, body, `422 ${error}`] as const;
    }),
    ...payloads.map(([title, body, error]) => [title, body, `422 ${error}`] as const),
    ["nothing", "", "400 json_malformed"],
    ["broken JSON", "{", "400 json_malformed"],
    ["NaN", withAmount("NaN"), "400 json_malformed"],
    ["__proto__", '{"__proto__":1}', "400 json_forbidden_key"],
    ["very deep JSON", '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000), "400 json_too_deep"],
    ["a body over the limit", " ".repeat(limits.bodyBytesMax + 1), "413 body_too_large"],
  ] as const;
  for (const [title, body, error] of wrong) {
    it(`should answer ${title} with ${error}`, async () => {
      expectError(await refusing(() => endpoints.ingest(body)), error);
      expect((await endpoints.ingest(sale())).status).to.equal(202);
    });
  }

  const keyMax = limits.idempotencyKeyLengthMax;
  const headers: [title: string, headers: Record<string, string>, error: string][] = [
    ["another content type", { "content-type": "text/json" }, "415 content_type_unsupported"],
    ["an empty Idempotency-Key", { "idempotency-key": "" }, "400 idempotency_key_invalid"],
    [
      "an Idempotency-Key that is too long",
      { "idempotency-key": "k".repeat(keyMax + 1) },
      "400 idempotency_key_invalid",
    ],
  ];
  for (const [title, given, error] of headers) {
    it(`should answer ${title} with ${error}`, async () => {
      expectError(await refusing(() => endpoints.ingest(sale(), given)), error);
    });
  }

  it("should take the largest amount that can be counted, exactly", async () => {
    const digits = limits.amountMinorMax.toString();
    const answer = await endpoints.ingest(withAmount(digits, "JPY"));
    expect(answer.status, answer.text).to.equal(202);
    const euros = `${digits.slice(0, -2)}.${digits.slice(-2)}`;
    const inEuros = await endpoints.ingest(withAmount(euros, "EUR"));
    expect(inEuros.text).to.include(`"amount_base":${euros},`);
    expect(inEuros.json.normalized.fx_rate).to.equal(1);
  });
});
