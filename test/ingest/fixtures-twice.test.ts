/**
 * Every provider's examples through its endpoint and the whole service, and then all of them once
 * more: nothing is recorded a second time.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { parseBody } from "../../schemas/parse.js";
import { passages } from "../../stores/watermark/watermark.js";
import type { Provider, ProviderToken } from "../../providers/provider.js";
import { onServers } from "../harness/backends.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { must } from "../model/readers/json.js";
import { cases, fixturesOf, providers } from "../harness/provider-cases.js";

/**
 * All that figures are made of. Facts are not among them: Gumroad's pings of a partial refund have
 * no id, and one that is repeated is a further fact that reports the same total.
 */
const additive = ["ledger", "mrr_movements", "subscription_changes", "unidentified_sides"];
/** Several writers may fill in versions from the middle later on; what is added up stays. */
const tables = onServers ? additive : [...additive, "transactions"];
const settledWithinMs = 100_000;

/** By workspace: the rows of each table that has some, and a digest of all that is in them. */
type Recorded = ReadonlyMap<string, readonly string[]>;

describe("Every provider's examples, delivered twice", function suite() {
  this.timeout(300_000);
  const endpoints = suiteEndpoints();
  const workspaces: { readonly token: ProviderToken; readonly workspace: string }[] = [];
  const deliveries: (() => Promise<Response>)[] = [];
  let once: Recorded;
  let twice: Recorded;

  before(async () => {
    const answer = (request: IncomingMessage, response: ServerResponse): boolean => {
      const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
      if (!endpoints.answersApi.answers.has(token)) return false;
      endpoints.answersApi.answer(request, response);
      return true;
    };
    endpoints.play.misbehave = answer;
    endpoints.gumroadApi.misbehave = answer;
    for (const [token, provider] of providers) await connect(token, provider);
    once = await afterDelivering();
    twice = await afterDelivering();
  });
  after(() => {
    endpoints.play.misbehave = null;
    endpoints.gumroadApi.misbehave = null;
  });

  for (const [token] of providers) {
    it(`should change nothing the second time: ${token}`, () => {
      const ours = workspaces.filter((each) => each.token === token);
      const recorded = ours.map(({ workspace }) => once.get(workspace));
      expect(recorded.join(), "recorded the first time").to.include("ledger");
      expect(ours.map(({ workspace }) => twice.get(workspace))).to.deep.equal(recorded);
    });
  }

  async function connect(token: ProviderToken, provider: Provider): Promise<void> {
    const { current, signers } = must(cases[token], "credentials");
    const signer = signers?.[0] ?? provider.credentials.parse(current);
    const path = await integrate(await newWorkspace(token), token, Object(current));
    const seen = new Set<string>();
    for (const { name, body, known } of fixturesOf(token)) {
      const deliver = (url: string): Promise<Response> => {
        const signed = provider.sign(body, signer, Date.now());
        const bytes = new Uint8Array(signed.body);
        return fetch(url, { method: "POST", headers: signed.headers, body: bytes });
      };
      const id = idOf(provider, body, signer) ?? name;
      if (known.answers.size === 0 && !seen.has(id)) {
        seen.add(id);
        deliveries.push(() => deliver(path));
        continue;
      }
      // One event reported in two ways, by its body or by the API, is none that comes twice.
      const apiToken = `${token}-${name}`;
      endpoints.answersApi.answers.set(apiToken, known.answers);
      const isAnswered = known.answers.size > 0;
      const asking = isAnswered ? apiCredentials(token, apiToken) : {};
      const credentials = { ...Object(current), ...asking };
      const own = await integrate(await newWorkspace(token), token, credentials);
      deliveries.push(() => deliver(own));
    }
  }

  /** With nothing in it: there are hundreds. @returns its id */
  async function newWorkspace(token: ProviderToken): Promise<string> {
    const given = { name: "Twice", base_currency: "EUR" };
    const { json } = await endpoints.manage("POST", "/workspaces", given);
    const workspace = String(json.data.id);
    workspaces.push({ token, workspace });
    return workspace;
  }

  /** @returns its webhook URL */
  async function integrate(
    workspace: string,
    provider: ProviderToken,
    credentials: object,
  ): Promise<string> {
    // Stripe's examples are of test mode.
    const environment = provider === "stripe" ? "Test" : "Production";
    const given = { provider, environment, credentials };
    const made = await endpoints.manage("POST", `/workspaces/${workspace}/integrations`, given);
    expect(made.status, made.text).to.equal(201);
    return endpoints.base + made.json.data.webhook_path;
  }

  /** An integration that asks with this token is given the example's answers. */
  function apiCredentials(token: ProviderToken, apiToken: string): object {
    const token_uri = endpoints.answersApi.tokenUri(apiToken);
    const byProvider: Partial<Record<ProviderToken, object>> = {
      paddle: { api_key: apiToken, api_environment: "production" },
      lemonsqueezy: { api_key: apiToken },
      gumroad: { access_token: apiToken },
      google: { service_account_key: { ...endpoints.play.serviceAccountKey, token_uri } },
    };
    return byProvider[token] ?? {};
  }

  async function afterDelivering(): Promise<Recorded> {
    for (const answer of await Promise.all(deliveries.map((deliver) => deliver()))) {
      // Some examples look like no event of the provider.
      expect(answer.status, await answer.text()).to.be.oneOf([200, 422]);
    }
    await untilSettled();
    const recorded = new Map<string, string[]>();
    for (const table of tables) {
      const rows = await endpoints.service.clickhouse.rows<{ workspace: string; reported: string }>(
        `SELECT workspace,
          concat(toString(count()), ' ', toString(sum(cityHash64(toString(tuple(*)))))) AS reported
        FROM ${table} WHERE workspace IN {workspaces:Array(String)} GROUP BY workspace`,
        { workspaces: workspaces.map(({ workspace }) => workspace) },
      );
      for (const { workspace, reported } of rows) {
        recorded.set(workspace, [...(recorded.get(workspace) ?? []), `${table}: ${reported}`]);
      }
    }
    return recorded;
  }

  /**
   * Everything was handled by everyone, optional enrichment included, and nothing waits
   * for an API that was too slow: on a busy machine it is replayed a while later.
   */
  async function untilSettled(): Promise<void> {
    const until = Date.now() + settledWithinMs;
    for (let seen = ""; ;) {
      const places: string[] = [];
      for (const [topic, group] of passages) {
        const ends = await endpoints.service.log.ends(topic);
        const committed = await endpoints.service.log.committed(topic, group);
        places.push(`${group}: ${committed.join()} of ${ends.join()}`);
      }
      const isSettled = places.every((place) => /: (.*) of \1$/.test(place));
      if (isSettled && seen === places.join() && !(await isAnswerAwaited())) return;
      if (Date.now() > until) throw new Error(`not settled: ${places.join("; ")}`);
      seen = places.join();
      await pause(100);
    }
  }

  /** At `decode` no key was given to ask with. */
  async function isAnswerAwaited(): Promise<boolean> {
    const awaited = await endpoints.service.clickhouse.rows(
      `SELECT 1 FROM rejects FINAL
       WHERE workspace IN {workspaces:Array(String)} AND state = 'open'
         AND reason = 'enrichment_unavailable' AND step != 'decode' LIMIT 1`,
      { workspaces: workspaces.map(({ workspace }) => workspace) },
    );
    return awaited.length > 0;
  }
});

/** What reports its event from others; null where it looks like none of the provider's. */
function idOf(provider: Provider, body: Buffer, signer: unknown): string | null {
  const { body: bytes, headers } = provider.sign(body, signer, Date.now());
  const read = parseBody(provider, bytes);
  return read.ok ? (provider.heading(read.value, headers)?.nativeId ?? null) : null;
}
