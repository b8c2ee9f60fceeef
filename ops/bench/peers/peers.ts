/**
 * This service beside what people would use instead: the same rows and questions on one machine in
 * one run, and what is booked of the same webhooks. This service answers over HTTP, its peers in
 * their own way, which costs them less.
 */
import { join } from "node:path";
import { aligned } from "../../aligned.js";
import { type Figure, median, short } from "../figures.js";
import { fillTables, yearMs, years } from "../fill.js";
import { HttpConnection } from "../http-connection.js";
import { sendClosedLoop } from "../load.js";
import type { Options } from "../options.js";
import { portMessage, withChild, withFolder } from "../processes.js";
import { cursorAfter, timesOf } from "../queries.js";
import { tenantWithSales } from "../sales-load.js";
import { nodeCommand, withService } from "../service.js";
import { StripeSales } from "../stripe-sales.js";
import { createTenant, settled, type Tenant, webhookRequest } from "../tenant.js";
import { exportTables } from "./export.js";
import { type Question, questionsAt } from "./questions.js";
import {
  fillPostgres,
  type Peer,
  withDuckdb,
  withPlainClickHouse,
  withPostgres,
} from "./stores.js";

/** Medians are over so many calls, after these; of a slow answer over fewer. */
const calls = 20;
const callsUncounted = 2;
const questionMsMax = 10_000;
const writeSeconds = 10;
/** More than anyone takes in that time. */
const requestsMax = 60_000;

export function peers({ rows }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), tenantWithSales);
    await fillTables(join(folder, "clickhouse"), tenant.workspace, rows);
    await exportTables(join(folder, "clickhouse"), tenant.workspace, folder);
    const now = Date.now();
    const halfWay = now - (years / 2) * yearMs;
    const questions = questionsAt(now, halfWay, tenant.workspace);
    const ours = await withService(folder, nodeCommand(), (service) =>
      askService(service.base, tenant, questions, halfWay),
    );
    const [postgres, naive] = await withPostgres(folder, async (peer, url) => {
      await fillPostgres(peer, folder);
      return [await askPeer(peer, questions), await booksNaively(url)];
    });
    const duckdb = await withDuckdb(folder, (peer) => askPeer(peer, questions));
    const clickhouse = await withPlainClickHouse(folder, (peer) => askPeer(peer, questions));
    assertSameAnswers([postgres, duckdb, clickhouse]);
    const all = [ours, postgres, duckdb, clickhouse];
    console.log(`\n${answersTable(questions, all)}\n`);
    console.log(await withFolder((other) => writing(other, naive)));
    return [];
  });
}

/** Of each question. */
interface Answers {
  readonly name: string;
  readonly medianMs: readonly number[];
  /** Null: of this service, whose answers have another form. */
  readonly rows: readonly number[] | null;
}

async function askService(
  base: URL,
  tenant: Tenant,
  questions: readonly Question[],
  halfWay: number,
): Promise<Answers> {
  const connection = await HttpConnection.open(base);
  const cursor = await cursorAfter(connection, tenant, new Date(halfWay).toISOString());
  const medianMs: number[] = [];
  for (const { path } of questions) {
    const asked = path ?? `/v1/transactions?cursor=${cursor}`;
    medianMs.push(median((await timesOf(connection, asked, tenant)).valuesMs));
  }
  connection.close();
  return { name: "this service", medianMs, rows: null };
}

async function askPeer(peer: Peer, questions: readonly Question[]): Promise<Answers> {
  const medianMs: number[] = [];
  const rows: number[] = [];
  for (const { sql } of questions) {
    const timesMs: number[] = [];
    let count = 0;
    const startedAt = performance.now();
    while (timesMs.length < calls + callsUncounted) {
      const askedAt = performance.now();
      count = (await peer.rows(sql)).length;
      timesMs.push(performance.now() - askedAt);
      const isEnough = timesMs.length > callsUncounted;
      if (isEnough && performance.now() - startedAt > questionMsMax) break;
    }
    medianMs.push(median(timesMs.slice(callsUncounted)));
    rows.push(count);
  }
  return { name: peer.name, medianMs, rows };
}

/** @throws when two peers answered a question with another number of rows */
function assertSameAnswers(all: readonly Answers[]): void {
  const [first, ...others] = all.map(({ name, rows }) => ({ name, text: String(rows) }));
  for (const other of others) {
    if (other.text === first?.text) continue;
    throw new Error(`rows: ${first?.name} ${first?.text}, ${other.name} ${other.text}`);
  }
}

function answersTable(questions: readonly Question[], all: readonly Answers[]): string {
  return aligned([
    ["p50", ...all.map(({ name }) => name)],
    ...questions.map(({ name }, index) => [
      name,
      ...all.map(({ medianMs }) => `${short(medianMs[index] ?? Number.NaN)} ms`),
    ]),
  ]);
}

/** @returns webhooks a second */
function booksNaively(url: string): Promise<number> {
  return withChild("naive-consumer", [url], (message) =>
    sendClosedLoop(
      new URL(`http://127.0.0.1:${portMessage.parse(message).port}`),
      requestsTo("/"),
      writeSeconds,
    ),
  );
}

async function writing(folder: string, naivePerSecond: number): Promise<string> {
  return withService(folder, nodeCommand(), async (service) => {
    const tenant = await createTenant(service);
    const startedAt = performance.now();
    const taken = await sendClosedLoop(service.base, requestsTo(tenant.webhookPath), writeSeconds);
    const takenMs = performance.now() - startedAt;
    await settled(service, tenant);
    const bookedMs = performance.now() - startedAt;
    const booked = (taken * takenMs) / bookedMs;
    return (
      `webhooks a second: this service takes ${short(taken)} and has all of them booked at ` +
      `${short(booked)}; one row each into Postgres ${short(naivePerSecond)}`
    );
  });
}

function requestsTo(path: string): Buffer[] {
  const sales = new StripeSales("peers");
  const now = Date.now();
  const requests: Buffer[] = [];
  while (requests.length < requestsMax) {
    requests.push(...sales.next(now).map(({ body }) => webhookRequest(path, body)));
  }
  return requests;
}
