/**
 * Odd values in any field of any provider's examples, through the endpoints to booking on the whole
 * embedded service: `npm run fuzz -- --poison --minutes 1 --seed 1`. After every few events a sale
 * of another workspace has to be booked; no call may be answered by a 5xx, and no event may fail
 * further in than its adapter.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as fc from "fast-check";
import { readConfig } from "../config.js";
import type { Provider } from "../providers/provider.js";
import { createLogger } from "../runtime/logger.js";
import { roleNames, start } from "../start.js";
import { pathsIn, replaced } from "./harness/json-paths.js";
import { cases, type Fixture, fixturesOf, providers } from "./harness/provider-cases.js";
import { type Endpoint, type Merchant, openMerchant } from "./model/merchant.js";
import { must } from "./model/readers/json.js";

const eventsAtOnce = 20;
/** On a busy machine; it takes a second. */
const bookedWithinMs = 60_000;
const nobody = "http://127.0.0.1:9";

/** @returns the exit code */
export async function poison(minutes: number, seed: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "revenue-poison-"));
  const logger = createLogger("fatal");
  const settings = {
    PORT: "0",
    DATA_DIR: folder,
    RATES_REFRESH: "off",
    RATE_LIMIT_PER_KEY: "100000",
    RATE_LIMIT_REFUSED: "100000",
    STRIPE_API_URL: nobody,
    GOOGLE_API_URL: nobody,
    GUMROAD_API_URL: nobody,
    PADDLE_API_URL: nobody,
    LEMONSQUEEZY_API_URL: nobody,
    POLAR_API_URL: nobody,
    CHARGEBEE_API_URL: nobody,
  };
  const started = await start(readConfig(settings), roleNames, logger);
  const { adminToken, clickhouse } = started.service;
  const run = new Run({ base: started.url, adminToken }, clickhouse);
  let batch = 0;
  try {
    await run.open();
    const until = Date.now() + minutes * 60_000;
    for (; Date.now() < until; batch += 1) await run.batch(seed + batch);
    await run.expectNoInternalErrors();
  } catch (error) {
    process.stderr.write(`${String(error)}\nrepeat with: --poison --seed ${seed + batch}\n`);
    return 1;
  } finally {
    process.stdout.write(`seed ${seed}: ${run.events} odd events, ${batch} sales beside them\n`);
    await started.stop();
    rmSync(folder, { recursive: true });
  }
  return 0;
}

class Run {
  events = 0;
  #beside: Merchant | undefined;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly clickhouse: {
      rows<Row>(sql: string, parameters?: Record<string, unknown>): Promise<Row[]>;
    },
  ) {}

  async open(): Promise<void> {
    this.#beside = await openMerchant(this.endpoint, "EUR");
  }

  /** The same events for the same seed; in a workspace of its own, since events come once. */
  async batch(seed: number): Promise<void> {
    const drawn = fc.sample(drawnEvents, { seed, numRuns: 1 })[0] ?? [];
    const merchant = await openMerchant(this.endpoint, "EUR");
    const paths = new Map<string, string>();
    for (const token of new Set(drawn.map(({ provider }) => provider.token))) {
      const { current } = must(cases[token], "credentials");
      // With a token each sale would be asked for first, and nobody answers here.
      const { access_token: _, ...credentials } = Object(current);
      paths.set(token, await merchant.integrate(token, credentials));
    }
    await Promise.all(
      drawn.map((one) => this.#send(one, merchant, must(paths.get(one.provider.token), "a path"))),
    );
    this.events += drawn.length;
    await this.#expectSaleBooked(seed);
  }

  async expectNoInternalErrors(): Promise<void> {
    const found = await this.clickhouse.rows<{ found_event: string }>(
      `SELECT concat(provider, ' ', native_type, ' ', step, ' ', event_id) AS found_event
       FROM rejects FINAL WHERE reason = 'internal_error' LIMIT 10`,
    );
    if (found.length === 0) return;
    throw new Error(`internal errors: ${found.map(({ found_event }) => found_event).join("; ")}`);
  }

  async #send(
    { provider, type, body, byIngest }: Odd,
    merchant: Merchant,
    path: string,
  ): Promise<void> {
    if (byIngest) {
      const call = { provider: provider.token, event_type: type, payload: body };
      await ingested(merchant, provider.token === "custom" ? body : call);
      return;
    }
    const { current, signers } = must(cases[provider.token], "credentials");
    const signer = signers?.[0] ?? provider.credentials.parse(current);
    const call = provider.sign(bytesOf(provider, body), signer, Date.now());
    await answered(this.endpoint.base + path, { method: "POST", ...call });
  }

  async #expectSaleBooked(seed: number): Promise<void> {
    const merchant = must(this.#beside, "another workspace");
    const { workspace } = merchant;
    const id = `sale_${seed}`;
    const sale = { provider: "custom", event_type: "transaction.sale", amount: 5, currency: "EUR" };
    const answer = await ingested(merchant, { ...sale, event_id: id });
    const { event_id: eventId } = JSON.parse(answer);
    const until = Date.now() + bookedWithinMs;
    while (Date.now() < until) {
      const rows = await this.clickhouse.rows(
        "SELECT 1 FROM ledger WHERE workspace = {workspace:String} AND event_id = {eventId:String}",
        { workspace, eventId },
      );
      if (rows.length > 0) return;
      await pause(50);
    }
    throw new Error(`seed ${seed}: the sale of another workspace is not booked`);
  }
}

function ingested({ endpoint, key }: Merchant, record: unknown): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const url = `${endpoint.base}/v1/events/ingest`;
  return answered(url, { method: "POST", headers, body: JSON.stringify(record) });
}

/** @throws when the answer is a mistake of the service */
async function answered(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${response.status}: ${text.slice(0, 300)}`);
  return text;
}

interface Odd {
  readonly provider: Provider;
  /** The provider's own word, so that the ingest endpoint reads the body whole. */
  readonly type: string;
  readonly body: unknown;
  /** Else as a webhook. */
  readonly byIngest: boolean;
}

const long = "x".repeat(66_000);
const nested: unknown = Array.from({ length: 1_000 }).reduce((inside) => [inside], "deep");
const oddValues: readonly unknown[] = [
  long,
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "",
  " ",
  "constructor",
  "__proto__",
  "-1",
  "1e9",
  "9".repeat(40),
  "9".repeat(400),
  "0.000000000000000000001",
  "9999-12-31T23:59:59Z",
  "0001-01-01T00:00:00Z",
  -1,
  0,
  0.5,
  -1e300,
  1e300,
  2 ** 31,
  2 ** 53 - 1,
  2 ** 63,
  253_402_300_799,
  8.64e15,
  null,
  true,
  {},
  [],
  [null],
  [long],
  nested,
  Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, index])),
];

const examples: readonly { readonly provider: Provider; readonly fixtures: readonly Fixture[] }[] =
  Array.from(providers.values(), (provider) => ({
    provider,
    fixtures: fixturesOf(provider.token),
  })).filter(({ fixtures }) => fixtures.length > 0);

/** One or two fields of an example, each at any depth. */
const drawnEvent: fc.Arbitrary<Odd> = fc
  .record({
    example: fc.constantFrom(...examples),
    fixture: fc.noBias(fc.nat()),
    changes: fc.array(fc.record({ place: fc.noBias(fc.nat()), value: fc.noBias(fc.nat()) }), {
      minLength: 1,
      maxLength: 2,
    }),
    byIngest: fc.boolean(),
  })
  .map(({ example: { provider, fixtures }, fixture, changes, byIngest }) => {
    let body = valueOf(must(fixtures[fixture % fixtures.length], "an example"));
    const type = provider.heading(body, {}, Date.now())?.nativeType ?? "odd";
    for (const { place, value } of changes) {
      const paths = [...pathsIn(body)];
      const path = paths[place % paths.length];
      if (path !== undefined) body = replaced(body, path, (old) => oddFor(old, value));
    }
    return { provider, type, body, byIngest };
  });
const drawnEvents = fc.array(drawnEvent, { minLength: eventsAtOnce, maxLength: eventsAtOnce });

function oddFor(old: unknown, draw: number): unknown {
  const index = draw % (oddValues.length + 2);
  if (index < oddValues.length) return oddValues[index];
  if (!Array.isArray(old)) return index % 2 === 0 ? [old] : { value: old };
  return Array.from({ length: 3_000 }, () => old[0]);
}

function valueOf({ body }: Fixture): unknown {
  const text = body.toString().trim();
  return text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}

/** As the provider sends it. */
function bytesOf({ token }: Provider, body: unknown): Buffer {
  if (token !== "gumroad") return Buffer.from(JSON.stringify(body));
  const fields = Object.entries(Object(body)).map(([name, value]): [string, string] => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return Buffer.from(new URLSearchParams(fields).toString());
}
