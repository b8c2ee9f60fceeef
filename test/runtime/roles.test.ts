/**
 * The roles apart, two processes of each, over real Kafka, ClickHouse and Postgres: events go in
 * at either endpoint, and either interface reports the same.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { WebSocket } from "ws";
import { limits } from "../../config.js";
import { listen as serve } from "../harness/loopback.js";
import { Proxy } from "../harness/proxy.js";
import { rejection, until } from "../harness/promises.js";
import { together } from "../harness/together.js";
import type { ModelEvent } from "../model/facts.js";
import { at, list, must, number, text } from "../model/readers/json.js";
import { type Merchant, openMerchant, readPages, send, whenBooked } from "../model/merchant.js";
import { expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { testLogger } from "../harness/stores.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { Installation, type RoleProcess } from "../harness/role-processes.js";

/** `docs/definitions.md`, Keys: how soon every process refuses a revoked key. */
const revocationSeenMs = 5_000;
/** Keyed by payment: of so many, every process that books has some. */
const salesPerRound = 20;
const logging = { LOG_LEVEL: "info" };

describe("The roles apart", function suite() {
  this.timeout(300_000);
  const own = suiteOnServers("roles", ["kafka", "clickhouse", "postgres"]);
  let installation: Installation;
  let ingest: readonly [RoleProcess, RoleProcess];
  let api: readonly [RoleProcess, RoleProcess];
  let processors: [RoleProcess, RoleProcess];

  before(async function () {
    installation = await Installation.open(own);
    // The first has nothing to talk to: no topic, no table, nobody who books.
    const firstApi = await installation.start("api");
    const [firstProcessors, firstIngest] = await Promise.all([
      installation.start("processors"),
      installation.start("ingest"),
    ]);
    const [secondIngest, secondApi, secondProcessors] = await Promise.all([
      installation.start("ingest", logging),
      installation.start("api", logging),
      installation.start("processors", logging),
    ]);
    ingest = [firstIngest, secondIngest];
    api = [firstApi, secondApi];
    processors = [firstProcessors, secondProcessors];
  });

  const newMerchant = () =>
    openMerchant({ base: api[0].base, adminToken: installation.adminToken }, "EUR");
  /** The same merchant, at another process. */
  const via = (merchant: Merchant, { base }: RoleProcess): Merchant => ({
    ...merchant,
    endpoint: { ...merchant.endpoint, base },
  });

  it("should report the model's figures everywhere, though one that books is killed", async () => {
    await expectModelThough(async () => {
      processors[0].child.kill("SIGKILL");
      processors = [await installation.start("processors"), processors[1]];
    });
  });

  it("should report the model's figures everywhere, over a rolling upgrade", async () => {
    const next = await installation.otherVersion();
    await expectModelThough(async () => {
      for (const index of [0, 1] as const) {
        const { child } = processors[index];
        processors[index] = await installation.start("processors", logging, next);
        child.kill("SIGTERM");
        await once(child, "exit");
        expect(child.exitCode).to.equal(0);
      }
    });
  });

  /** @param disturb while events are taken */
  async function expectModelThough(disturb: () => Promise<void>): Promise<void> {
    const merchant = await newMerchant();
    const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
    const events = largestPortfolio(seed);
    const sockets = await Promise.all(api.map((one) => listen(one, merchant.key)));
    const reported: ModelEvent[] = [];
    const waiting = [...events];
    const sender = async (endpoint: RoleProcess) => {
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
        reported.push(await send(via(merchant, endpoint), event));
      }
    };
    const senders = [...ingest, ...ingest].map(sender);
    while (waiting.length > events.length / 2) await pause(5);
    await Promise.all([...senders, disturb()]);
    try {
      for (const one of api) {
        const reader = via(merchant, one);
        await whenBooked(reader);
        await expectModel(reader, reported);
      }
      const listed = await readPages(merchant, "/v1/transactions", {});
      for (const socket of sockets) await socket.hasSeen(listed);
    } catch (error) {
      throw new Error(`repeat with FUZZ_SEED=${seed}`, { cause: error });
    } finally {
      for (const socket of sockets) socket.close();
    }
  }

  it("should resume a stream at another process than it began at", async () => {
    const merchant = await newMerchant();
    const first = await listen(api[0], merchant.key);
    await sell(via(merchant, ingest[0]), { event_id: "one" });
    await first.hasMessages(1);
    const cursor = must(text(first.messages[0], "cursor"), "a cursor");
    first.close();
    await sell(via(merchant, ingest[1]), { event_id: "two" });
    const second = await listen(api[1], merchant.key, cursor);
    await second.hasMessages(1);
    expect(text(second.messages[0], "id")).to.not.equal(text(first.messages[0], "id"));
    second.close();
  });

  it("should answer a key sent to two endpoints at once with one event", async () => {
    const merchant = await newMerchant();
    const keys = Array.from({ length: 20 }, (_, index) => `both-endpoints-${index}`);
    const answers = await Promise.all(
      keys.map((key) =>
        Promise.all(
          ingest.map((endpoint) => sell(via(merchant, endpoint), {}, { "idempotency-key": key })),
        ),
      ),
    );
    for (const [one, other] of answers) {
      expect(at(one, "event_id")).to.be.a("string").and.equal(at(other, "event_id"));
      expect(at(one, "normalized")).to.eql(at(other, "normalized"));
    }
    await whenBooked(merchant);
    expect(await readPages(merchant, "/v1/transactions", {})).to.have.length(keys.length);
  });

  it("should answer 503 while Postgres is away, and go on when it is back", async () => {
    const merchant = await newMerchant();
    await installation.postgres.stop();
    // Longer than look-ups are kept.
    await pause(revocationSeenMs);
    for (const { base } of api) {
      const headers = { authorization: `Bearer ${merchant.key}` };
      const answer = await fetch(`${base}/v1/transactions`, { headers });
      const reported: unknown = await answer.json();
      expect([answer.status, text(reported, "error", "code")]).to.eql([
        503,
        "metadata_unavailable",
      ]);
    }
    for (const endpoint of ingest) {
      const refused = await rejection(sell(via(merchant, endpoint)));
      expect(String(refused)).to.match(/answered 503.*metadata_unavailable/);
    }
    await installation.restartPostgres();
    await sellWhenBack(via(merchant, ingest[1]));
    await whenBooked(via(merchant, api[1]));
    expect(await readPages(via(merchant, api[1]), "/v1/transactions", {})).to.have.length(1);
  });

  describe("of which one is cut off or refused", () => {
    const itTogether = together();

    itTogether("should refuse a revoked key everywhere, and close its sockets", async () => {
      const merchant = await newMerchant();
      const endpoints = [...api, ...ingest];
      const statuses = () => Promise.all(endpoints.map(({ base }) => statusOf(base, merchant.key)));
      expect(await statuses()).to.eql([200, 200, 422, 422]);
      const socket = await listen(api[1], merchant.key);
      await revokeKeys(api[0].base, installation.adminToken, merchant.key);
      await pause(revocationSeenMs);
      expect(await statuses()).to.eql([401, 401, 401, 401]);
      expect(await socket.closed).to.equal(1008);
    });

    itTogether(
      "should lose and double nothing where one that books is cut off from Postgres",
      async () => {
        const merchant = await newMerchant();
        const server = new URL(installation.postgres.url);
        const proxy = await Proxy.open(0, Number(server.port));
        server.port = String(proxy.port);
        const cutOff = await installation.start("processors", { DATABASE_URL: server.href });
        try {
          // Beside the others it has partitions of its own; what it knows of these SKUs it has to
          // ask.
          const sellAll = async (round: string): Promise<void> => {
            for (let index = 0; index < salesPerRound; index += 1) {
              const one = `${round}-${index}`;
              await sell(via(merchant, ingest[index % 2 === 0 ? 0 : 1]), {
                event_id: one,
                product_id: one,
              });
            }
          };
          await sellAll("before");
          await whenBooked(merchant);
          proxy.isParted = true;
          proxy.deafen();
          await sellAll("meanwhile");
          await whenReadinessIs(cutOff, 503, "postgres");
          await pause(limits.receiptsLeaseMs);
          proxy.heal();
          await whenBooked(merchant);
          await whenReadinessIs(cutOff, 200, "success");
          await sellAll("after");
          await whenBooked(merchant);
          const listed = await readPages(merchant, "/v1/transactions", {});
          expect(listed).to.have.length(3 * salesPerRound);
          const revenue = await readPages(merchant, "/v1/products", { period: "lifetime" });
          expect(revenue.map((row) => number(row, "total_sales"))).to.eql(listed.map(() => 1));
        } finally {
          proxy.heal();
          cutOff.child.kill("SIGTERM");
          await once(cutOff.child, "exit");
          await proxy.close();
        }
      },
    );

    itTogether("should take events while ClickHouse is away, also from a start on", async () => {
      const merchant = await newMerchant();
      const late = await installation.start("ingest", { CLICKHOUSE_URL: "http://127.0.0.1:1" });
      const [event] = largestPortfolio(1);
      await send(via(merchant, late), must(event ?? null, "an event"));
      await whenBooked(merchant);
      late.child.kill("SIGTERM");
      await once(late.child, "exit");
      expect(late.child.exitCode).to.equal(0);
    });

    itTogether("should start all the same when Postgres goes away amid the start", async () => {
      const url = new URL(installation.postgres.url);
      const postgres = await breakingOnce(Number(url.port), "FROM migrations");
      url.port = String(postgres.port);
      const late = await installation.start("ingest", { DATABASE_URL: url.href });
      expect(postgres.hasBroken()).to.equal(true);
      late.child.kill("SIGTERM");
      await once(late.child, "exit");
      await postgres.close();
    });
  });

  // Mocha runs the tests of a suite before the suites in it.
  describe("asked to stop", () => {
    it("should leave nothing behind when it is asked to stop amid its start", async () => {
      const postgres = await openPostgres({ url: installation.postgres.url }, testLogger);
      const running = async (): Promise<number> =>
        (await postgres.query("SELECT FROM ingest_processes WHERE until > now()")).length;
      const before = await running();
      const { child } = await installation.begin("processors");
      const exited = once(child, "exit");
      while ((await running()) === before) await pause(2);
      child.kill("SIGTERM");
      expect((await exited)[0]).to.equal(0);
      expect(await running()).to.equal(before);
      await postgres.close();
    });

    it("should stop in good order at SIGTERM, and at Ctrl-C, which npm sends twice", async () => {
      for (const [asked, interrupted] of [ingest, processors, api]) {
        const ended = [asked, interrupted].map(({ child }) => once(child, "close"));
        asked.child.kill("SIGTERM");
        interrupted.child.kill("SIGINT");
        await until(() => interrupted.logged().includes('"msg":"stopping"'));
        interrupted.child.kill("SIGINT");
        for (const one of ended) expect((await one)[0]).to.equal(0);
        expect(interrupted.logged()).to.match(/"msg":"stopping"[^]*"msg":"stopped"/);
      }
    });
  });
});

/** Before a server: the first connection that carries these words is reset, once. */
async function breakingOnce(serverPort: number, words: string) {
  let hasBroken = false;
  const listener = createServer((client) => {
    const server = connect(serverPort, "127.0.0.1");
    const sever = (): void => [client, server].forEach((socket) => socket.destroy());
    for (const socket of [client, server]) socket.on("error", sever).on("close", sever);
    client.on("data", (bytes) => {
      if (hasBroken || !bytes.includes(words)) return server.write(bytes);
      hasBroken = true;
      return sever();
    });
    server.pipe(client);
  });
  return { ...(await serve(listener)), hasBroken: () => hasBroken };
}

/** A sale of a till of the merchant's own; the answer of the ingest endpoint. */
async function sell(
  merchant: Merchant,
  more: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await fetch(`${merchant.endpoint.base}/v1/events/ingest`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${merchant.key}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({
      provider: "custom",
      event_type: "transaction.sale",
      amount: 10,
      currency: "EUR",
      ...more,
    }),
  });
  const reported: unknown = await answer.json();
  if (answer.status !== 202)
    throw new Error(`answered ${answer.status}: ${JSON.stringify(reported)}`);
  return reported;
}

async function sellWhenBack(merchant: Merchant): Promise<void> {
  for (;;) {
    try {
      await sell(merchant, { event_id: "after the break" });
      return;
    } catch (error) {
      if (!String(error).includes("answered 503")) throw error;
      await pause(100);
    }
  }
}

/** @param word of its answer */
async function whenReadinessIs(role: RoleProcess, status: number, word: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${role.base}/readyz`);
    const reported = await answer.text();
    if (answer.status === status && reported.includes(word)) return;
    await pause(200);
  }
}

/** Of a read at the interface, and of an incomplete sale at the ingest endpoint. */
async function statusOf(base: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const asked = await fetch(`${base}/v1/transactions`, { headers });
  if (asked.status !== 404) return asked.status;
  const body = JSON.stringify({ provider: "custom" });
  return (await fetch(`${base}/v1/events/ingest`, { method: "POST", headers, body })).status;
}

/** All keys of the workspace the key belongs to. */
async function revokeKeys(base: string, adminToken: string, key: string): Promise<void> {
  const manage = async (method: string, path: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const answer = await fetch(`${base}/v1/manage${path}`, { method, headers });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}`);
    return answer.status === 204 ? null : answer.json();
  };
  for (const workspace of list(await manage("GET", "/workspaces"), "data")) {
    const path = `/workspaces/${text(workspace, "id")}/keys`;
    for (const one of list(await manage("GET", path), "data")) {
      const isIts = key.startsWith(must(text(one, "prefix"), "a prefix"));
      if (isIts) await manage("DELETE", `${path}/${text(one, "id")}`);
    }
  }
}

interface Listening {
  readonly messages: unknown[];
  /** Its close code. */
  readonly closed: Promise<number>;
  hasMessages(count: number): Promise<void>;
  /** Resolves when the newest that was seen of each of these transactions says the same. */
  hasSeen(rows: readonly unknown[]): Promise<void>;
  close(): void;
}

async function listen(role: RoleProcess, key: string, after?: string): Promise<Listening> {
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  const url = `${role.base.replace("http", "ws")}/v1/events/stream${query}`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  const messages: unknown[] = [];
  socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString())));
  const closed = once(socket, "close").then(([code]) => Number(code));
  await once(socket, "open");
  /** @param missing what has still to come */
  const whenNothing = async (missing: () => readonly unknown[]) => {
    for (let tries = 0; missing().length > 0; tries += 1) {
      if (tries > 600) throw new Error(`never came: ${JSON.stringify(missing())}`);
      await pause(50);
    }
  };
  return {
    messages,
    closed,
    hasMessages: (count) => whenNothing(() => Array.from({ length: count - messages.length })),
    hasSeen: (rows) =>
      whenNothing(() => rows.filter((row) => !isSame(newestOf(messages, row), row))),
    close: () => socket.close(),
  };
}

function newestOf(messages: readonly unknown[], row: unknown): unknown {
  const version = (message: unknown) => number(message, "version") ?? 0;
  return messages
    .filter((message) => text(message, "id") === text(row, "id"))
    .reduce<unknown>((last, next) => (version(next) > version(last) ? next : last), null);
}

/** A later version that says nothing new is listed and not sent. */
function isSame(message: unknown, row: unknown): boolean {
  const fields = ["status", "gross_amount", "normalized_amount", "refunded_amount", "timestamp"];
  return fields.every((field) => at(message, field) === at(row, field));
}
