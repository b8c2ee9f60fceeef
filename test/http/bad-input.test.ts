/** The list of bad input: each is answered with what is wrong, takes nothing, and delays nobody. */
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
  const secret = { signing_secret: signingSecret };
  const json = { "content-type": "application/json" };
  const event = () => Buffer.from(JSON.stringify(newStripeEvent()));
  const signed = (body: Buffer, atMs = Date.now(), credentials = secret) =>
    stripe.sign(body, credentials, atMs).headers;
  const post = (headers: Record<string, string>, body: Buffer, path = endpoints.webhook) =>
    endpoints.call(path, { method: "POST", headers, body });
  const minuteMs = 60_000;

  const rows: [title: string, status: number, code: string, call: () => Promise<Answer>][] = [
    ["no signature", 401, "signature_missing", () => post(json, event())],
    [
      "a signature nobody can read",
      401,
      "signature_malformed",
      () => post({ ...json, "stripe-signature": "v1" }, event()),
    ],
    [
      "a forged signature",
      401,
      "signature_mismatch",
      () => {
        const body = event();
        return post(signed(body, Date.now(), { signing_secret: "whsec_guessed" }), body);
      },
    ],
    [
      "a body changed by one byte",
      401,
      "signature_mismatch",
      () => {
        const body = event();
        const headers = signed(body);
        body.writeUInt8(body.readUInt8(10) ^ 1, 10);
        return post(headers, body);
      },
    ],
    [
      "a stale signature",
      401,
      "signature_stale",
      () => {
        const body = event();
        return post(signed(body, Date.now() - 6 * minuteMs), body);
      },
    ],
    [
      "an unknown token",
      404,
      "webhook_unknown",
      () => post(json, event(), `/v1/webhooks/${"x".repeat(32)}`),
    ],
    [
      "a token with broken escapes",
      404,
      "webhook_unknown",
      () => post(json, event(), "/v1/webhooks/%E0%A4%A"),
    ],
    ["a GET", 405, "method_not_allowed", () => endpoints.call(endpoints.webhook)],
    [
      "plain text",
      415,
      "content_type_unsupported",
      () => post({ "content-type": "text/plain" }, event()),
    ],
    [
      "another charset",
      415,
      "charset_unsupported",
      () => post({ "content-type": "application/json; charset=utf-16" }, event()),
    ],
    [
      "a compressed body",
      415,
      "content_encoding_unsupported",
      () => post({ ...json, "content-encoding": "gzip" }, event()),
    ],
    [
      "a body over the limit",
      413,
      "body_too_large",
      () => {
        const body = Buffer.alloc(limits.bodyBytesMax + 1, " ");
        return post(signed(body), body);
      },
    ],
    [
      "an unknown length over the limit",
      413,
      "body_too_large",
      () =>
        endpoints.call(endpoints.webhook, {
          method: "POST",
          headers: json,
          body: new Blob([Buffer.alloc(2 * limits.bodyBytesMax, " ")]).stream(),
          duplex: "half",
        }),
    ],
    ["broken JSON", 400, "json_malformed", () => endpoints.deliver('{"id":')],
    [
      "JSON that is very deep",
      400,
      "json_too_deep",
      () => endpoints.deliver("[".repeat(100_000) + "]".repeat(100_000)),
    ],
    ["__proto__", 400, "json_forbidden_key", () => endpoints.deliver('{"__proto__":{"id":"a"}}')],
    [
      "constructor.prototype",
      400,
      "json_forbidden_key",
      () => endpoints.deliver('{"constructor":{"prototype":{}}}'),
    ],
    ["no UTF-8", 400, "json_not_utf8", () => endpoints.deliver(Buffer.from([0x22, 0xff, 0x22]))],
    [
      "JSON that is no event",
      422,
      "event_unrecognized",
      () => endpoints.deliver('{"hello":"world"}'),
    ],
  ];
  for (const [title, status, code, call] of rows) {
    it(`should answer ${title} with ${status} ${code}`, async () => {
      expectError(await refusing(call), { status, code });
    });
  }

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
  const rows: [title: string, bytes: string, status: number, code: string][] = [
    ["what is not HTTP", "hello\r\n\r\n", 400, "http_malformed"],
    [
      "headers without end",
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
      400,
      "http_malformed",
    ],
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
    const headers = Object.entries(
      stripe.sign(Buffer.from(body), { signing_secret: signingSecret }, Date.now()).headers,
    ).map(([name, value]) => `${name}: ${value}\r\n`);
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
      expectError(await endpoints.call(path), {
        status: 404,
        code: "path_unknown",
        type: "not_found",
      });
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
  const madeKey = async (given: object) => {
    const path = `/workspaces/${endpoints.workspace}/keys`;
    return (await endpoints.manage("POST", path, given)).json.data;
  };
  const full = { environment: "Production", scope: "Full Ingress" };

  const rows: [title: string, status: number, code: string, call: () => Promise<Answer>][] = [
    ["no key", 401, "key_missing", () => ingest(null)],
    ["another scheme", 401, "authorization_malformed", () => ingest(`Basic ${endpoints.key}`)],
    ["a bare key", 401, "authorization_malformed", () => ingest(endpoints.key)],
    ["no key at all", 401, "key_malformed", () => ingest("Bearer hello")],
    ["a mistyped key", 401, "key_malformed", () => ingest(`Bearer ${endpoints.key.slice(0, -1)}`)],
    [
      "the administrator token",
      401,
      "key_malformed",
      () => ingest(`Bearer ${endpoints.adminToken}`),
    ],
    [
      "a key in the URL",
      401,
      "key_in_url",
      () => ingest(`Bearer ${endpoints.key}`, `/v1/events/ingest?key=${endpoints.key}`),
    ],
    [
      "a revoked key",
      401,
      "key_revoked",
      async () => {
        const { id, key } = await madeKey(full);
        expect((await ingest(`Bearer ${key}`)).status).to.equal(202);
        await endpoints.manage("DELETE", `/workspaces/${endpoints.workspace}/keys/${id}`);
        return ingest(`Bearer ${key}`);
      },
    ],
    [
      "an expired key",
      401,
      "key_expired",
      async () => {
        const soon = new Date(Date.now() + 300).toISOString();
        const { key } = await madeKey({ ...full, expires_at: soon });
        await new Promise((resolve) => setTimeout(resolve, 310));
        return ingest(`Bearer ${key}`);
      },
    ],
    ["a Read-only key", 403, "scope_insufficient", () => ingest(`Bearer ${endpoints.readKey}`)],
  ];
  for (const [title, status, code, call] of rows) {
    it(`should answer ${title} with ${status} ${code}`, async () => {
      expectError(await call(), {
        status,
        code,
        type: status === 401 ? "authentication" : "permission",
      });
      expect((await endpoints.ingest(sale())).status).to.equal(202);
    });
  }
});

/** A good form A record without an id. */
function sale(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
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
  const day = 24 * 60 * 60 * 1000;
  const in2Days = () => new Date(Date.now() + 2 * day).toISOString();
  /** Written by hand where JSON.stringify cannot write it. */
  const withAmount = (amount: string, currency = "USD") =>
    JSON.stringify(sale({ amount: "AMOUNT", currency })).replace('"AMOUNT"', amount);
  const native = (payload: unknown, more: object = {}) => ({
    provider: "stripe",
    event_type: "checkout.session.completed",
    payload,
    ...more,
  });
  const flat = { id: "evt_flat_1", amount: 4900, currency: "usd" };

  const rows: [title: string, body: unknown, code: string, param: string][] = [
    ["no JSON object", "[]", "body_not_an_object", "body"],
    ["a negative amount", sale({ amount: -1 }), "amount_negative", "amount"],
    ["an infinite amount", withAmount("1e999"), "amount_too_large", "amount"],
    ["an exponent nobody can write out", withAmount("1e999999999"), "amount_too_large", "amount"],
    ["an amount as text", sale({ amount: "19.99" }), "amount_not_a_number", "amount"],
    ["an amount of null", sale({ amount: null }), "amount_not_a_number", "amount"],
    ["no amount", sale({ amount: undefined }), "field_missing", "amount"],
    ["a tenth of a cent", sale({ amount: 1.001 }), "amount_too_precise", "amount"],
    ["half a yen", sale({ amount: 0.5, currency: "JPY" }), "amount_too_precise", "amount"],
    ["more than can be counted", withAmount("90071992547409.92"), "amount_too_large", "amount"],
    [
      "more in the base currency than can be counted",
      sale({ amount: 90071992547409, currency: "KWD" }),
      "amount_too_large",
      "amount",
    ],
    ["an unknown currency", sale({ currency: "XQQ" }), "currency_unknown", "currency"],
    ["a currency that is a number", sale({ currency: 840 }), "currency_unknown", "currency"],
    ["an unknown event type", sale({ event_type: "sale" }), "event_type_unknown", "event_type"],
    ["an unknown provider", sale({ provider: "acme" }), "provider_unknown", "provider"],
    ["paddle", sale({ provider: "paddle" }), "provider_not_ingestable", "provider"],
    ["a misspelt field", sale({ curency: "USD" }), "field_unknown", "curency"],
    [
      "a date of 1999",
      sale({ occurred_at: "1999-12-31T23:59:59Z" }),
      "occurred_at_too_early",
      "occurred_at",
    ],
    [
      "a date more than a day ahead",
      sale({ occurred_at: in2Days() }),
      "occurred_at_in_future",
      "occurred_at",
    ],
    ["a date that is none", sale({ occurred_at: "today" }), "occurred_at_invalid", "occurred_at"],
    [
      "a country that is none",
      sale({ customer_country: "Germany" }),
      "field_invalid",
      "customer_country",
    ],
    [
      "a country ISO does not know",
      sale({ customer_country: "uk" }),
      "field_invalid",
      "customer_country",
    ],
    [
      "a country ISO does not know in a flat payload",
      native({ ...flat, customer_country: "QQ" }),
      "field_invalid",
      "payload.customer_country",
    ],
    ["both forms at once", sale({ payload: flat }), "forms_mixed", "amount"],
    ["an unknown field beside payload", native(flat, { hello: 1 }), "field_unknown", "hello"],
    ["a payload that is a list", native([]), "field_invalid", "payload"],
    [
      "an unknown native type",
      { ...native(flat), event_type: "hello.world" },
      "event_type_unknown",
      "event_type",
    ],
    [
      "a native type without payload",
      { ...native(flat), payload: undefined },
      "event_type_unknown",
      "event_type",
    ],
    [
      "a flat payload with cents of a cent",
      native({ ...flat, amount: 49.5 }),
      "amount_too_precise",
      "payload.amount",
    ],
    [
      "form B of paddle",
      { ...native(flat), provider: "paddle" },
      "provider_not_ingestable",
      "provider",
    ],
    [
      "a payload of the other environment",
      native(newStripeEvent({ livemode: false }), { event_type: "product.created" }),
      "environment_conflict",
      "payload",
    ],
    [
      "a payload of another type than it says",
      native(newStripeEvent()),
      "event_type_conflict",
      "event_type",
    ],
  ];
  for (const [title, body, code, param] of rows) {
    it(`should answer ${title} with 422 ${code}`, async () => {
      expectError(await refusing(() => endpoints.ingest(body)), { status: 422, code, param });
      expect((await endpoints.ingest(sale())).status).to.equal(202);
    });
  }

  const malformed: [title: string, body: string, code: string][] = [
    ["nothing", "", "json_malformed"],
    ["broken JSON", "{", "json_malformed"],
    ["NaN", withAmount("NaN"), "json_malformed"],
    ["__proto__", '{"__proto__":1}', "json_forbidden_key"],
    ["very deep JSON", '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000), "json_too_deep"],
  ];
  for (const [title, body, code] of malformed) {
    it(`should answer ${title} with 400 ${code}`, async () => {
      expectError(await refusing(() => endpoints.ingest(body)), { status: 400, code });
    });
  }

  it("should answer a body over the limit with 413", async () => {
    const answer = await refusing(() => endpoints.ingest(" ".repeat(limits.bodyBytesMax + 1)));
    expectError(answer, { status: 413, code: "body_too_large" });
  });

  it("should answer another content type with 415", async () => {
    const answer = await refusing(() => endpoints.ingest(sale(), { "content-type": "text/json" }));
    expectError(answer, { status: 415, code: "content_type_unsupported" });
  });

  it("should refuse an Idempotency-Key that is empty or too long", async () => {
    for (const key of ["", "k".repeat(limits.idempotencyKeyLengthMax + 1)]) {
      const answer = await refusing(() => endpoints.ingest(sale(), { "idempotency-key": key }));
      expectError(answer, { status: 400, code: "idempotency_key_invalid" });
    }
  });

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
