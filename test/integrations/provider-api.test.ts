/** Calls of a provider's API, against a real HTTP server that behaves and misbehaves. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect } from "chai";
import { FreshAnswers } from "../../providers/api/fresh-answers.js";
import { createMetrics } from "../../runtime/metrics.js";
import type { Asked } from "../../providers/api/integration-client.js";
import { openProviderApis, type ProviderApis } from "../../providers/api/provider-api.js";
import { readConfig } from "../../config.js";
import { mayBeAnswered } from "../../processors/enrich/questions.js";
import { createGoogle } from "../../providers/google/index.js";
import { subscriptionPath } from "../../providers/google/paths.js";
import { createPaddle } from "../../providers/paddle/index.js";
import { createStripe } from "../../providers/stripe/index.js";
import {
  always,
  answered,
  cut,
  cutWithin,
  type Failure,
  inTurn,
  tooMany,
} from "../apis/failures.js";
import { openGooglePlay } from "../apis/google-play.js";
import { apiKey, openStripeApi, send, type StripeApi } from "../apis/stripe-api.js";

const patience = {
  answerMsMax: 300,
  bytesMax: 1_000,
  attemptsMax: 3,
  pauseMs: 10,
  waitMsMax: 100,
  failuresMax: 4,
  halfOpenAfterMs: 200,
};
const provider = createStripe({ toleranceSeconds: 300 });
const path = "/v1/products/prod_1";
const product = { id: "prod_1", object: "product", name: "Atlas" };

const wait: Failure = () => undefined;
const text =
  (body: string): Failure =>
  (response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(body);

describe("Calls of a provider's API", () => {
  let api: StripeApi;
  let apis: ProviderApis;
  const metrics = createMetrics();

  before(async () => {
    api = await openStripeApi();
    api.objects.set(path, product);
  });

  beforeEach(() => {
    api.calls.length = 0;
    api.misbehave = null;
    apis = openProviderApis(readConfig({ STRIPE_API_URL: api.url }), { metrics, patience });
  });

  function ask(
    question: {
      path?: string;
      key?: string | null;
      freshForMs?: number;
      headers?: Record<string, string>;
    } = {},
  ) {
    const key = question.key === undefined ? apiKey : question.key;
    const credentials = { signing_secret: "whsec", ...(key === null ? {} : { api_key: key }) };
    return apis.ask(
      { provider, integration: { id: "int_1", credentials } },
      {
        path: question.path ?? path,
        freshForMs: question.freshForMs ?? 0,
        ...(question.headers === undefined ? {} : { headers: question.headers }),
      },
      AbortSignal.timeout(5_000),
    );
  }

  const good = { outcome: "answered", text: JSON.stringify(product) } as const;
  const trouble = (detail: string): Asked => ({ outcome: "trouble", detail });
  const cases: [string, readonly Failure[], Asked, number][] = [
    ["an answer", [], good, 1],
    ["nothing there (404)", [answered(404)], { outcome: "answered", text: null }, 1],
    ["no longer there (410)", [answered(410)], { outcome: "answered", text: null }, 1],
    [
      "a key that may not (403)",
      [answered(403)],
      { outcome: "refused", detail: "answered 403" },
      1,
    ],
    ["a wrong question (400)", [answered(400)], { outcome: "refused", detail: "answered 400" }, 1],
    ["a wrong key (401)", [answered(401)], { outcome: "refused", detail: "answered 401" }, 1],
    ["two failures, then an answer", [answered(500), answered(503)], good, 3],
    ["failures only", [answered(500), answered(502), answered(500)], trouble("answered 500"), 3],
    ["too many calls, come back at once", [tooMany], good, 2],
    [
      "too many calls, come back at a date",
      [answered(429, {}, { "retry-after": past() })],
      good,
      2,
    ],
    ["a connection cut before the answer", [cut], good, 2],
    ["a connection cut within the answer", [cutWithin], good, 2],
    ["no answer in time", [wait, wait, wait], trouble("no answer in time"), 3],
    ["an answer that is no JSON", [text("<html>")], good, 2],
    ["an answer without end", [text(`"${"x".repeat(2_000)}"`)], good, 2],
    ["a way elsewhere", [answered(302, {}, { location: "/v1/products/prod_2" })], good, 2],
  ];
  for (const [title, answers, expected, calls] of cases) {
    it(`should make of ${title}: ${expected.outcome} after ${calls}`, async () => {
      api.misbehave = inTurn(answers);
      expect(await ask()).to.deep.equal(expected);
      expect(api.calls).to.have.lengthOf(calls);
    });
  }

  it("should report a thing Google does not have from a key it refuses, both by 400", async () => {
    const play = await openGooglePlay();
    play.misbehave = always(answered(400, { error: { code: 400 } }));
    const askGoogle = (account: object) =>
      openProviderApis(readConfig({ GOOGLE_API_URL: play.url }), { metrics, patience }).ask(
        {
          provider: createGoogle({ tokenHosts: [new URL(play.url).hostname] }),
          integration: {
            id: "int_2",
            credentials: { service_account_key: { ...play.serviceAccountKey, ...account } },
          },
        },
        { path: subscriptionPath("com.example.atlas", "of-another-app"), freshForMs: 0 },
        AbortSignal.timeout(5_000),
      );
    expect(await askGoogle({})).to.deep.equal({ outcome: "answered", text: null });
    const refused = { outcome: "refused", detail: "answered 400" };
    expect(await askGoogle({ client_email: "nobody@example.com" })).to.deep.equal(refused);
    expect(play.calls).to.have.length(1);
  });

  it("should send the key and the version, and ask nothing without a key", async () => {
    const headers: IncomingMessage["headers"][] = [];
    api.misbehave = (request) => {
      headers.push(request.headers);
      return false;
    };
    await ask();
    expect(headers[0]).to.include({
      authorization: `Bearer ${apiKey}`,
      "stripe-version": "2025-09-30.clover",
    });
    expect(await ask({ key: null })).to.deep.equal({ outcome: "silent" });
    expect(headers).to.have.lengthOf(1);
  });

  it("should ask with the credentials an integration has now, if they have a key", async () => {
    const keyless = { signing_secret: "whsec" };
    const keyed = { ...keyless, api_key: "k" };
    const withNow = (...credentials: unknown[]) => {
      const of = { workspace: "ws", provider: "stripe", environment: "live" } as const;
      const found = { id: "int_1", ...of };
      const byId = async () => (credentials.length === 0 ? null : { ...found, credentials });
      const integrations = { byId, byToken: byId, forget: () => {} };
      const service = { integrations, answersKept: () => Promise.resolve(isKept) };
      return mayBeAnswered(service, provider, { workspace: "ws", integration: "int_1" });
    };
    let isKept = false;
    expect(await withNow(keyless)).to.equal(false);
    expect(await withNow(keyed), "a first key").to.equal(true);
    expect(await withNow(), "deleted").to.equal(false);
    isKept = true;
    expect(await withNow(), "deleted, with answers of before").to.equal(true);
  });

  it("should leave a dead API alone, and find it again when it lives", async () => {
    api.misbehave = always(answered(500));
    await ask();
    await ask();
    const calls = api.calls.length;
    expect(calls).to.equal(patience.failuresMax);
    expect(await ask()).to.deep.equal(trouble("left alone after repeated failures"));
    expect(api.calls).to.have.lengthOf(calls);
    api.misbehave = null;
    while ((await ask()).outcome !== "answered") await new Promise((go) => setTimeout(go, 20));
  });

  it("should not wait for as long as it is asked to, nor call meanwhile", async () => {
    for (const seconds of ["3600", "99999999999"]) {
      api.misbehave = inTurn([answered(429, {}, { "retry-after": seconds })]);
      expect(await ask()).to.deep.equal(trouble("answered 429"));
      expect(await ask()).to.deep.equal(trouble("asks us to wait"));
      expect(api.calls).to.have.lengthOf(1);
      api.calls.length = 0;
      apis = openProviderApis(readConfig({ STRIPE_API_URL: api.url }), { metrics, patience });
    }
  });

  it("should let all integrations wait where the calls of an address are counted", async () => {
    const config = readConfig({ STRIPE_API_URL: api.url, PADDLE_API_URL: api.url });
    const rest = answered(429, {}, { "retry-after": "3600" });
    const asks = [
      [provider, "a call each: the limit is of an account", 2],
      [createPaddle({ toleranceSeconds: 5 }), "one call: it is of the address", 1],
    ] as const;
    for (const [of, what, calls] of asks) {
      const all = openProviderApis(config, { metrics, patience });
      api.calls.length = 0;
      api.misbehave = always(rest);
      for (const id of ["int_1", "int_2"]) {
        const integration = { id, credentials: { signing_secret: "secret", api_key: `key ${id}` } };
        const question = { path, freshForMs: 0 };
        const asker = { provider: of, integration };
        await all.ask(asker, question, AbortSignal.timeout(5_000));
      }
      expect(api.calls, what).to.have.lengthOf(calls);
    }
  });

  it("should count what came of the questions", async () => {
    const count = async (): Promise<number> => {
      const shown = await metrics.registry.metrics();
      const line = /^revenue_provider_questions_total\{.*"refused"\} (\d+)$/m;
      return Number(line.exec(shown)?.[1] ?? 0);
    };
    const before = await count();
    api.misbehave = inTurn([answered(403)]);
    await ask();
    expect(await count()).to.equal(before + 1);
  });

  it("should begin anew with new credentials", async () => {
    expect((await ask({ key: "rk_of_nobody" })).outcome).to.equal("refused");
    expect(await ask()).to.deep.equal(good);
  });

  it("should ask again by a new authorization when one that was good is refused", async () => {
    api.misbehave = inTurn([text("{}"), answered(401)]);
    await ask();
    expect(await ask()).to.deep.equal(good);
    expect(api.calls).to.have.lengthOf(3);
    const refusals = inTurn([answered(401), answered(401), text("{}")]);
    api.misbehave = refusals;
    expect(await ask()).to.deep.equal({ outcome: "refused", detail: "answered 401" });
    expect(refusals.calls).to.equal(2);
  });

  it("should keep an authorization asked for while another was refused", async () => {
    const hourMs = 3_600_000;
    // Each call asks for one, since that of the first is good for no time at all.
    const lives = [0, hourMs, hourMs];
    const asks: (() => void)[] = [];
    const tokens = {
      ...provider,
      api: {
        ...provider.api,
        baseUrl: () => api.url,
        requestsPerSecond: 100,
        allowsCalls: () => true,
        authorize: async (_credentials: unknown, now: number) => {
          const life = lives[asks.length] ?? 0;
          const number = asks.length + 1;
          await new Promise<void>((resolve) => asks.push(resolve));
          if (number === 3) throw new Error("no token can be had");
          return { headers: { authorization: `Bearer ${apiKey}` }, until: now + life };
        },
      },
    };
    const askWith = () =>
      apis.ask(
        { provider: tokens, integration: { id: "int_tokens", credentials: {} } },
        { path, freshForMs: 0 },
        AbortSignal.timeout(5_000),
      );
    const until = async (isTrue: () => boolean) => {
      while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    let refuse = (): void => {};
    api.misbehave = (_request, response) => {
      refuse = () => send(response, 401, {});
      return true;
    };
    const first = askWith();
    await until(() => asks.length === 1);
    asks[0]?.();
    await until(() => api.calls.length === 1);
    api.misbehave = null;
    const second = askWith();
    await until(() => asks.length === 2);
    refuse();
    await first;
    const third = askWith();
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const reported of asks.slice(1).toReversed()) reported();
    expect(await second).to.deep.equal(good);
    expect(await third).to.deep.equal(good);
    expect(await askWith()).to.deep.equal(good);
  });

  it("should share one call among those who ask at the same time", async () => {
    const fresh = { freshForMs: 60_000 };
    const answers = await Promise.all([ask(fresh), ask(fresh), ask(fresh)]);
    expect(answers).to.deep.equal([good, good, good]);
    expect(api.calls).to.have.lengthOf(1);
  });

  it("should answer no event by a call that was made before it came", async () => {
    const before = { ...product, name: "Before" };
    let answer = (): void => undefined;
    api.misbehave = (_request, response) => {
      answer = () => send(response, 200, before);
      api.misbehave = null;
      return true;
    };
    const first = ask();
    while (api.calls.length === 0) await new Promise((go) => setTimeout(go, 1));
    expect(await ask()).to.deep.equal(good);
    answer();
    expect(await first).to.deep.equal({ outcome: "answered", text: JSON.stringify(before) });
  });

  it("should take the same path of two accounts for two questions", async () => {
    const accounts: unknown[] = [];
    api.misbehave = (request) => {
      accounts.push(request.headers["stripe-account"]);
      return false;
    };
    for (const account of ["acct_1", "acct_2", "acct_1"]) {
      const headers = { "stripe-account": account };
      expect(await ask({ freshForMs: 60_000, headers })).to.deep.equal(good);
    }
    expect(accounts).to.deep.equal(["acct_1", "acct_2"]);
  });

  it("should let an answer serve again while it is fresh", async () => {
    await ask({ freshForMs: 60_000 });
    expect(await ask({ freshForMs: 60_000 })).to.deep.equal(good);
    expect(api.calls).to.have.lengthOf(1);
  });

  it("should stop asking when it is aborted", async () => {
    api.misbehave = inTurn([wait]);
    const stop = new AbortController();
    const asker = { provider, integration: { id: "int_1", credentials: { api_key: apiKey } } };
    const asking = apis.ask(asker, { path, freshForMs: 0 }, stop.signal);
    stop.abort();
    expect(await asking).to.deep.equal(trouble("no answer in time"));
    const late = await apis.ask(asker, { path, freshForMs: 0 }, stop.signal);
    expect(late).to.deep.equal(trouble("no answer in time"));
  });
});

const [hourMs, minuteMs] = [3_600_000, 60_000];
const never = new AbortController().signal;

describe("Answers that serve again", () => {
  const rows: [string, string | null, number][] = [
    ["what the API had, as long as it is fresh", "{}", hourMs],
    ["what it did not have, a minute: it may have it soon", null, minuteMs],
  ];
  for (const [title, had, ms] of rows) {
    it(`should serve ${title}`, async () => {
      let [now, calls] = [0, 0];
      const clock = () => now;
      const fresh = new FreshAnswers({ entriesMax: 10, bytesMax: 10, clock });
      const get = () =>
        fresh.get("int_1", { name: path, freshForMs: hourMs }, never, async () => {
          calls += 1;
          return { outcome: "answered", text: had };
        });
      await get();
      now = ms - 1;
      await get();
      expect(calls).to.equal(1);
      now = ms;
      await get();
      expect(calls).to.equal(2);
    });
  }
});

describe("An answer that several ask for", () => {
  const question = { name: path, freshForMs: hourMs };
  const cutShort: Asked = { outcome: "trouble", detail: "no answer in time" };

  it("should not be the end of whose time is over, for those who have time left", async () => {
    const fresh = new FreshAnswers({ entriesMax: 10, bytesMax: 100 });
    const first = new AbortController();
    const begun = fresh.get("int_1", question, first.signal, async () => {
      await once(first.signal, "abort");
      return cutShort;
    });
    const late = fresh.get("int_1", question, never, async () => ({
      outcome: "answered",
      text: "{}",
    }));
    first.abort();
    expect(await begun).to.deep.equal(cutShort);
    expect(await late).to.deep.equal({ outcome: "answered", text: "{}" });
  });

  it("should be the trouble of whoever asked, while that one had time", async () => {
    const fresh = new FreshAnswers({ entriesMax: 10, bytesMax: 100 });
    let calls = 0;
    const ask = async (): Promise<Asked> => {
      calls += 1;
      return cutShort;
    };
    const asked = [1, 2, 3].map(() => fresh.get("int_1", question, never, ask));
    expect(await Promise.all(asked)).to.deep.equal([cutShort, cutShort, cutShort]);
    expect(calls).to.equal(1);
  });
});

function past(): string {
  return new Date(Date.UTC(2026, 0, 1)).toUTCString();
}
