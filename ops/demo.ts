/**
 * `npm run demo`: two years of a made-up business, written as received over two years, then a
 * trickle of live events at the real webhook endpoint until Ctrl-C. `--fresh` forgets an earlier
 * demo and begins again.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { writeLinkFile } from "../workspaces/members/first-run.js";
import { FolderLocked } from "../stores/folder-lock.js";
import { mrrAnswer } from "../api/mrr/schema.js";
import { fourAnswers, money } from "./demo/answers.js";
import { readWords } from "./command-line.js";
import { makeBusiness } from "./demo/business.js";
import { dayMs, monthsAfter } from "./demo/calendar.js";
import { Chance } from "./demo/chance.js";
import { deliver } from "./demo/deliver.js";
import { DemoFolder, FolderRefused } from "./demo/folder.js";
import { LiveBusiness } from "./demo/live.js";
import { ask, type Merchant, whenBooked } from "./demo/merchant.js";
import { recordPast } from "./demo/past.js";
import { overwrite, Progress, whileWaiting } from "./demo/progress.js";
import { type ServiceProcess, ServiceRefused, startService } from "./demo/service-process.js";

const usage = `npm run demo [-- --fresh] [-- --folder <path>]

Continues the last demo in ./demo-data or that folder; with --fresh it begins again.
`;
const baseCurrency = "USD";
const business = {
  seed: "revenue",
  days: 730,
  customers: 860,
  customersAtFirst: 20,
  customersOfOtherProviders: 260,
};
/**
 * A pause for each live event, longer the longer it runs: what is sold today stays small beside
 * what was sold on other days.
 */
const trickleMs = 2_000;
const trickleDoublesMs = 10 * 60_000;
/** Between two looks at the figures; where nothing can be overwritten, lines are fewer. */
const statusMs = process.stdout.isTTY ? 2_000 : 30_000;

const stopping = new AbortController();
const { signal } = stopping;
const out = process.stdout;

try {
  await main();
} catch (error) {
  if (!isForPerson(error)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = readWords(usage, {
    options: {
      fresh: { type: "boolean", default: false },
      folder: { type: "string", default: "demo-data" },
    },
  });
  const { folder: folderPath } = values;
  const { seed } = business;
  const folder = DemoFolder.open(folderPath, { fresh: values.fresh, seed, now: Date.now() });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => (signal.aborted ? process.exit(1) : stopping.abort()));
  }
  // A service started it (api/manage/demo/process.ts), and has ended.
  process.on("disconnect", () => stopping.abort());
  if (!folder.isWhole) await writeHistory(folder);
  if (signal.aborted) return;
  const starting = `Starting the service, data in ${folderPath}`;
  const service = await whileWaiting(out, starting, startService(folder.data, folder.log));
  try {
    // What is under way at a stop fails when the service goes; nobody waits for it.
    const stopped = once(signal, "abort");
    if (!signal.aborted) await Promise.race([stopped, service.lost, run(service, folder)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    out.write("\nStopping\n");
    await service.stop();
  }
}

async function run(service: ServiceProcess, folder: DemoFolder): Promise<void> {
  const merchant = folder.merchantAt(service.url);
  if (merchant === null) throw new Error("the history was not written");
  await bookHistory(merchant, folder);
  process.send?.(service.url);
  out.write(await fourAnswers(merchant));
  out.write(dashboard(service.url, folder));
  out.write(invitation(merchant));
  await trickle(merchant);
}

/** Once, before the service starts; what was cut short is written anew. */
async function writeHistory(folder: DemoFolder): Promise<void> {
  folder.forgetData();
  const { seed, end } = folder;
  const made = makeBusiness({ ...business, seed, end });
  const { length } = made.deliveries;
  const written = new Progress(out, "Writing two years", length);
  const onWritten = (count: number): void => written.update(count);
  const since = end - business.days * dayMs;
  const given = { baseCurrency, since, signal, onWritten } as const;
  const merchant = await recordPast(folder.data, made, given).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (merchant === null) return;
  folder.remember(merchant);
  const total = length.toLocaleString("en-US");
  written.end(`of ${total} signed webhooks took ${written.seconds} s`);
}

/** After a run that was cut short the service goes on where it was. */
async function bookHistory(merchant: Merchant, { end }: DemoFolder): Promise<void> {
  const since = end - business.days * dayMs;
  // Booked up to is reported as a time of receipt, so that is what the bar measures.
  const booked = new Progress(out, "Booking them", end - since);
  const onProgress = (completeTo: number): void => booked.update(completeTo - since);
  await whenBooked(merchant, { signal, onProgress });
  booked.end(`took ${booked.seconds} s more`);
}

async function trickle(merchant: Merchant): Promise<void> {
  const tag = `live${Date.now().toString(36)}`;
  const live = new LiveBusiness(tag, new Chance(tag));
  let sent = 0;
  let statusAt = 0;
  const startedAt = Date.now();
  while (!signal.aborted) {
    const reported = live.next(Date.now());
    for (const one of reported) await deliver(merchant, one, signal);
    sent += reported.length;
    const slower = 1 + (Date.now() - startedAt) / trickleDoublesMs;
    await pause(trickleMs * slower * reported.length, undefined, { signal });
    if (Date.now() - statusAt < statusMs) continue;
    statusAt = Date.now();
    await sayStatus(merchant, sent);
  }
}

async function sayStatus(merchant: Merchant, sent: number): Promise<void> {
  const { data } = await ask(merchant, "/v1/metrics/mrr", mrrAnswer);
  const mrr = money(data.current_mrr, data.currency);
  const said = `Live: ${sent} events   MRR ${mrr}   ${data.active_subscribers} subscribers`;
  if (out.isTTY) overwrite(out, `${said}   (Ctrl-C ends)`);
  else out.write(`${said}\n`);
}

function dashboard(url: string, { data }: DemoFolder): string {
  const token = writeLinkFile(data, new Date());
  // Cookies know no ports: under the same name it would end the session of a service beside it.
  const own = url.replace("//localhost:", "//127.0.0.1:");
  return `
Open the dashboard (this link counts once, for an hour):

  ${own}/setup#${token}
`;
}

function invitation({ url, key }: Merchant): string {
  const get = (path: string): string => `  curl -s '${url}${path}' -H "$KEY"\n`;
  const aYearAgo = new Date(monthsAfter(Date.now(), -12)).toISOString().slice(0, 10);
  const sale =
    `{"provider": "custom", "event_type": "transaction.sale", ` +
    `"amount": 49.5, "currency": "EUR", "product_id": "poster"}`;
  return `
Try more, in another terminal:

  export KEY="Authorization: Bearer ${key}"
${get(`/v1/metrics/mrr?at=${aYearAgo}T00:00:00Z`)}${get("/v1/metrics/cohorts")}\
${get("/v1/products?period=lifetime")}${get("/v1/transactions?status=disputed")}\
  curl -s ${url}/v1/events/ingest -H "$KEY" \\
    -H "Content-Type: application/json" -d '${sale}'

Watch payments live, from this folder:

  node -e 'new (require("ws"))("${url.replace("http", "ws")}/v1/events/stream",
    {headers: {authorization: process.env.KEY.slice(15)}})
    .on("message", m => console.log(m + ""))'

All calls: ${url}/docs

`;
}

function isForPerson(error: unknown): error is Error {
  return (
    error instanceof ServiceRefused ||
    error instanceof FolderRefused ||
    error instanceof FolderLocked
  );
}
