/**
 * What a message costs that is brought to a socket: from a record of the transactions topic to
 * many sockets of many workspaces, by the role that answers them, against a bare server of `ws`
 * that sends the same bytes. What the same records cost without a socket is left out.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { readConfig } from "../../config.js";
import { createLogger } from "../../runtime/logger.js";
import { Releases } from "../../runtime/releases.js";
import { openService } from "../../runtime/start/open.js";
import type { Log } from "../../stores/log/log.js";
import { type TransactionRecord, topics, transactionCodec } from "../../schemas/records/records.js";
import { type Figure, median, type Options, short } from "./figures.js";
import { type Installation, withInstallation } from "./installation.js";
import { portMessage, withChild } from "./processes.js";
import { metric } from "./service.js";
import { inTurns, messages, processorSecondsAnswer } from "./sockets-floor.js";
import { createTenant } from "./tenant.js";

const workspaces = 100;
const socketCounts = [1_000, 10_000];
const pollMs = 10;
const ratioMin = 0.7;

export async function sockets({ rounds, profileFolder }: Options): Promise<Figure[]> {
  const measured = await withInstallation(profileFolder, (installation) =>
    ofService(installation, rounds),
  );
  const figures: Figure[] = [];
  for (const { size, rates, texts } of measured) {
    const bare = await ofBareServer(size, rounds, texts);
    const shown = (all: readonly number[]) => all.map(short).join(" ");
    console.log(`  ${size}: service ${shown(rates)}, bare ${shown(bare)}/s`);
    figures.push({
      name: `messages a second of processor time, ${size} sockets`,
      value: median(rates),
      unit: "/s",
      floor: median(bare),
      target: { ratioMin },
    });
  }
  return figures;
}

interface Measured {
  readonly size: number;
  /** Of each round: messages that reached a socket, for each second of processor time. */
  readonly rates: readonly number[];
  /** A message of each workspace. */
  readonly texts: readonly string[];
}

async function ofService(installation: Installation, rounds: number): Promise<Measured[]> {
  const { api, adminToken, settings } = installation;
  const tenants = [];
  while (tenants.length < workspaces) tenants.push(await createTenant({ base: api, adminToken }));
  const ids = tenants.map(({ workspace }) => workspace);
  const url = new URL("/v1/events/stream", api);
  const places = tenants.map(({ key }) => ({ url, headers: { authorization: `Bearer ${key}` } }));
  const releases = new Releases(createLogger("error"));
  const { service } = await openService(readConfig({ ...settings, RATES_REFRESH: "off" }), {
    logger: createLogger("error"),
    releases,
    withoutClickHouse: true,
  });
  await service.publicSchemas.announce();
  const server: Server = {
    processorSeconds: () => metric(api, "process_cpu_seconds_total"),
    sendRound: () => appendRound(service.log, ids),
  };
  try {
    const measured: Measured[] = [];
    const heard = new Heard(workspaces);
    // Nobody listens yet.
    const alone = median(await secondsOf(server, rounds, heard));
    for (const size of socketCounts) {
      await heard.open(places, size);
      const seconds = await secondsOf(server, rounds, heard);
      const rates = seconds.map((one) => heard.expected / (one - alone));
      measured.push({ size, rates, texts: heard.texts });
    }
    heard.close();
    return measured;
  } finally {
    await releases.release();
  }
}

function ofBareServer(size: number, rounds: number, texts: readonly string[]): Promise<number[]> {
  return withChild("sockets-floor", [], async (message) => {
    const base = `http://127.0.0.1:${portMessage.parse(message).port}`;
    const ask = async (init: RequestInit = {}): Promise<number> =>
      processorSecondsAnswer.parse(await (await fetch(base, init)).json()).seconds;
    const server: Server = {
      processorSeconds: () => ask(),
      sendRound: async () => void (await ask({ method: "POST", body: JSON.stringify(texts) })),
    };
    const places = texts.map((_, index) => ({ url: new URL(`/${index}`, base) }));
    const heard = new Heard(places.length);
    await heard.open(places, size);
    const seconds = await secondsOf(server, rounds, heard);
    heard.close();
    return seconds.map((one) => heard.expected / one);
  });
}

interface Server {
  processorSeconds(): Promise<number>;
  sendRound(): Promise<void>;
}

/** Processor time of each round, until all have heard all; the first only warms up. */
async function secondsOf(server: Server, rounds: number, heard: Heard): Promise<number[]> {
  const seconds: number[] = [];
  while (seconds.length <= rounds) {
    const before = await server.processorSeconds();
    const expected = heard.count + heard.expected;
    await server.sendRound();
    await heard.until(expected);
    seconds.push((await server.processorSeconds()) - before);
  }
  return seconds.slice(1);
}

interface Place {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sockets that count what they hear. */
class Heard {
  count = 0;
  readonly texts: string[];
  readonly #open: WebSocket[] = [];

  constructor(places: number) {
    this.texts = Array.from({ length: places }, () => "");
  }

  /** Messages that a round brings to all of them. */
  get expected(): number {
    return (messages * this.#open.length) / this.texts.length;
  }

  /** As many as are missing, the same number at each place. */
  async open(places: readonly Place[], size: number): Promise<void> {
    while (this.#open.length < size) {
      const some = places.map(async ({ url, headers = {} }, index) => {
        const socket = new WebSocket(url, { headers, perMessageDeflate: false });
        socket.on("message", (data: Buffer) => {
          this.count += 1;
          if (this.texts[index] === "") this.texts[index] = data.toString();
        });
        await once(socket, "open");
        return socket;
      });
      this.#open.push(...(await Promise.all(some)));
    }
  }

  async until(count: number): Promise<void> {
    while (this.count < count) await pause(pollMs);
  }

  close(): void {
    for (const socket of this.#open) socket.terminate();
  }
}

/** A record for one workspace after the other. */
function appendRound(log: Log, ids: readonly string[]): Promise<void> {
  return inTurns(async (numbers) => {
    const records = numbers.map((number) => {
      const workspace = ids[number % ids.length] ?? "";
      return { key: workspace, value: transactionCodec.encode({ ...sale, workspace }) };
    });
    await log.append(topics.transactions, records);
  });
}

const sale: TransactionRecord = {
  id: "txn_0Zr8VJm1fVtT0mY7Qk9s1w",
  version: 2,
  workspace: "",
  environment: "live",
  provider: "stripe",
  external_id: "price_1PqTeam",
  product_name: "Team",
  gross_amount: 4_900n,
  original_currency: "USD",
  normalized_amount: 4_512n,
  base_currency: "EUR",
  fx_rate: "0.9208",
  fx_date: "2026-07-01",
  fx_source: "ecb",
  refunded_amount: 0n,
  tax_amount: 782n,
  fee_amount: 172n,
  customer_country: "DE",
  account: "0JH3dGtQm2sVbXw8Zp5Yk1",
  type: "subscription",
  status: "succeeded",
  timestamp: 1_782_900_000_000,
  recorded_at: 1_782_900_000_500,
  event_id: "evt_3f1Qy8mZc0VtLw7Rk2s9Pd",
  backfill: false,
  first: true,
};
