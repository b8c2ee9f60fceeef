/**
 * `npm run demo`: two years of a made-up business, played through the real webhook endpoint, then a
 * trickle of live events until Ctrl-C. `--fresh` forgets an earlier demo and begins again.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { writeLinkFile } from "../workspaces/members/first-run.js";
import { tokenFile } from "../stores/data-folder.js";
import { FolderLocked } from "../stores/folder-lock.js";
import { mrrAnswer } from "../api/mrr/schema.js";
import { fourAnswers, money } from "./demo/answers.js";
import { readWords } from "./command-line.js";
import { makeBusiness } from "./demo/business.js";
import { monthsAfter } from "./demo/calendar.js";
import { Chance } from "./demo/chance.js";
import { deliver, deliverAll } from "./demo/deliver.js";
import { DemoFolder, FolderRefused } from "./demo/folder.js";
import { LiveBusiness } from "./demo/live.js";
import { ask, type Merchant, openMerchant, salesUpTo, whenBooked } from "./demo/merchant.js";
import { overwrite, Progress, whileWaiting } from "./demo/progress.js";
import { type ServiceProcess, ServiceRefused, startService } from "./demo/service-process.js";

const usage = "npm run demo [-- --fresh]    continues the last one, or starts again\n";
const folderPath = "demo-data";
const baseCurrency = "USD";
const business = {
  seed: "revenue",
  days: 730,
  customers: 860,
  customersAtFirst: 20,
  customersOfOtherProviders: 260,
};
/** A pause for each live event: about three a second. */
const trickleMs = 300;
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
  const { values } = readWords(usage, { options: { fresh: { type: "boolean", default: false } } });
  const { seed } = business;
  const folder = DemoFolder.open(folderPath, { fresh: values.fresh, seed, now: Date.now() });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => (signal.aborted ? process.exit(1) : stopping.abort()));
  }
  const starting = `Starting the service, data in ./${folderPath}`;
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
  const merchant = await merchantOf(service, folder);
  signal.throwIfAborted();
  await playHistory(merchant, folder);
  out.write(await fourAnswers(merchant));
  out.write(dashboard(service.url, folder));
  out.write(invitation(merchant));
  await trickle(merchant);
}

async function merchantOf(service: ServiceProcess, folder: DemoFolder): Promise<Merchant> {
  const known = folder.merchantAt(service.url);
  if (known !== null) return known;
  const adminToken = readFileSync(join(folder.data, tokenFile), "utf8").trim();
  const made = await openMerchant(service.url, adminToken, baseCurrency);
  folder.remember(made);
  return made;
}

/**
 * Once: the service is asked whether it knows all the sales of the history. After a run that was
 * cut short all of it is sent again, which counts nothing twice: the ids are the same.
 */
async function playHistory(merchant: Merchant, folder: DemoFolder): Promise<void> {
  const { journal, deliveries } = makeBusiness({ ...business, seed: folder.seed, end: folder.end });
  await whileWaiting(out, "Checking what is there", whenBooked(merchant, { signal }));
  if ((await salesUpTo(merchant, journal.end)) === journal.payments) {
    out.write("The two years are already there.\n");
    return;
  }
  const startedAt = Date.now();
  const sent = new Progress(out, "Sending two years", deliveries.length);
  await deliverAll(merchant, deliveries, { signal, onTaken: (count) => sent.update(count) });
  const total = deliveries.length.toLocaleString("en-US");
  sent.end(`as ${total} signed webhooks took ${sent.seconds} s`);
  // Booked up to is reported as a time of receipt, so that is what the bar measures.
  const booked = new Progress(out, "Booking them", Date.now() - startedAt);
  const onProgress = (completeTo: number): void => booked.update(completeTo - startedAt);
  await whenBooked(merchant, { signal, onProgress });
  booked.end(`took ${booked.seconds} s more`);
}

async function trickle(merchant: Merchant): Promise<void> {
  const tag = `live${Date.now().toString(36)}`;
  const live = new LiveBusiness(tag, new Chance(tag));
  let sent = 0;
  let statusAt = 0;
  while (!signal.aborted) {
    const reported = live.next(Date.now());
    for (const one of reported) await deliver(merchant, one, signal);
    sent += reported.length;
    await pause(trickleMs * reported.length, undefined, { signal });
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
  return `
Open the dashboard (this link counts once, for an hour):

  ${url}/setup#${token}
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
