/**
 * The dashboard in Chromium over large tables: what its first page weighs, its slowest call, how
 * long until the overview and each change of range or breakdown are drawn, and, while transactions
 * come in, how late frames of Live are. Late ones are also the machine's, which service, generator
 * and browser share.
 */
import { statSync } from "node:fs";
import type { BrowserContext, Page } from "playwright-core";
import { projectFile } from "../../runtime/project-root.js";
import { launchChromium, openDashboard } from "../chromium.js";
import { withFilled } from "./fill.js";
import { below, type Figure, median, type Options, percentile, short, spread } from "./figures.js";
import { sendSales } from "./traffic.js";
import type { RunningService } from "./service.js";
import { type Tenant, settled } from "./tenant.js";

const livePerSecond = 200;
const liveSecondsMax = 20;
const drawnMsMax = 60_000;

const ranges = ["Last 30 days", "Last 24 months", "Last 3 months", "Last 12 months"];
const breakdowns = ["Provider", "Product", "Currency", "Country"];

export function web(options: Options): Promise<Figure[]> {
  return withFilled(options.rows, options.profileFolder, async (service, tenant) => {
    const browser = await launchChromium();
    try {
      const context = await openDashboard(browser, service.base.origin, service.folder, {
        viewport: { width: 1440, height: 900 },
      });
      await context.addInitScript(watching);
      return await measure(context, service, tenant, options);
    } finally {
      await browser.close();
    }
  });
}

async function measure(
  context: BrowserContext,
  service: RunningService,
  tenant: Tenant,
  { rounds, seconds }: Options,
): Promise<Figure[]> {
  const page = await context.newPage();
  const calls = watchCalls(page);
  const overview = `/overview?workspace=${tenant.workspace}`;

  // Neither the browser nor the service has anything of it yet.
  const { drawnMs: coldMs, files } = await opened(page, overview);
  const warmMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    warmMs.push((await opened(page, overview)).drawnMs);
  }
  console.log(`  overview: cold ${short(coldMs)} ms, warm ${spread(warmMs)}`);

  const changesMs: number[] = [];
  await opened(page, `/mrr?workspace=${tenant.workspace}`);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of [...ranges, ...breakdowns]) changesMs.push(await changed(page, name));
  }
  console.log(`  change of range or breakdown: ${spread(changesMs)}`);
  const slowest = [...calls].toSorted((one, other) => other.ms - one.ms);
  for (const { ms, path } of slowest.slice(0, 5)) console.log(`  ${short(ms)} ms  ${path}`);

  const webhooks = livePerSecond * Math.min(seconds, liveSecondsMax);
  const longestMs = await watchLive(page, tenant, async () => {
    await sendSales(service.base, tenant, livePerSecond, webhooks);
    await settled(service, tenant);
  });
  return [
    below(70, "first load, gzipped", files, "KB"),
    below(300, "slowest call", slowest[0]?.ms ?? Number.NaN),
    below(400, "overview drawn, warm", median(warmMs)),
    below(1_000, "overview drawn, cold", coldMs),
    below(150, "change of range or breakdown drawn, p95", percentile(changesMs, 0.95)),
    below(50, `Live at ${livePerSecond} webhooks a second, longest frame`, longestMs),
  ];
}

/** In every page: calls under way, and how long frames take. */
const watching = `{
  const real = window.fetch;
  window.underWay = 0;
  window.fetch = (...words) => {
    window.underWay += 1;
    return real(...words).finally(() => setTimeout(() => (window.underWay -= 1)));
  };
  window.isDrawn = () =>
    window.underWay === 0 &&
    document.querySelector(".chart .line, .chart .segment") !== null &&
    document.querySelector(".skeleton, .skeleton-block, .is-stale") === null;
  window.whenDrawn = () => new Promise((drawn) => {
    const look = () => (window.isDrawn() ? drawn(performance.now()) : requestAnimationFrame(look));
    // What was asked for is on its way after two frames.
    requestAnimationFrame(() => requestAnimationFrame(look));
  });
}`;

async function opened(
  page: Page,
  path: string,
): Promise<{ readonly drawnMs: number; readonly files: number }> {
  const names: string[] = [];
  const note = (response: { url(): string }): void => void names.push(response.url());
  page.on("response", note);
  await page.goto(path, { waitUntil: "commit" });
  await page.locator(".chart .line, .chart .segment").first().waitFor({ timeout: drawnMsMax });
  const drawnMs = Number(await page.evaluate("window.whenDrawn()"));
  page.off("response", note);
  return { drawnMs, files: kilobytesOf(names) };
}

/** Of scripts and styles, as gzip left them. */
function kilobytesOf(urls: readonly string[]): number {
  const paths = urls.map((url) => new URL(url).pathname).filter((path) => /\.(js|css)$/.test(path));
  const bytes = paths.map((path) => statSync(projectFile("dist", "web", `.${path}.gz`)).size);
  return bytes.reduce((sum, size) => sum + size, 0) / 1024;
}

/** @param name of the choice in one of the menus above the figures */
async function changed(page: Page, name: string): Promise<number> {
  const choices = "[...document.querySelectorAll('.bar .menu a')]";
  const choice = `${choices}.find((link) => link.textContent === ${JSON.stringify(name)})`;
  return Number(
    await page.evaluate(`(async () => {
      const at = performance.now();
      ${choice}.click();
      return (await window.whenDrawn()) - at;
    })()`),
  );
}

interface Call {
  readonly path: string;
  readonly ms: number;
}

function watchCalls(page: Page): readonly Call[] {
  const calls: Call[] = [];
  page.on("requestfinished", (request) => {
    const { pathname, search } = new URL(request.url());
    const { requestStart, responseEnd } = request.timing();
    if (pathname.startsWith("/v1/") && requestStart >= 0) {
      const path = `${pathname}${search.replace(/workspace=\w+&environment=\w+&?/, "")}`;
      calls.push({ path, ms: responseEnd - requestStart });
    }
  });
  return calls;
}

async function watchLive(page: Page, tenant: Tenant, send: () => Promise<void>): Promise<number> {
  await page.goto(`/live?workspace=${tenant.workspace}`);
  await page.locator(".badge.live").first().waitFor();
  await page.locator("tbody tr").first().waitFor();
  await page.evaluate(`{
    window.framesMs = [];
    let before = performance.now();
    const frame = (now) => {
      window.framesMs.push(now - before);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }`);
  await send();
  const framesMs = numbers(await page.evaluate("window.framesMs.slice(1)"));
  console.log(`  frames of Live: ${spread(framesMs)}`);
  return percentile(framesMs, 1);
}

function numbers(value: unknown): number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}
