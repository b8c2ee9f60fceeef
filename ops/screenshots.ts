/**
 * `node dist/ops/screenshots.js`: plays the demo in a folder of its own, and makes the pictures of
 * `docs/images/` of it anew.
 */
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { z } from "zod";
import { projectFile } from "../runtime/project-root.js";
import { launchChromium, openDashboard } from "./chromium.js";
import { addressOf } from "./service-address.js";

const images = projectFile("docs", "images");
const folder = mkdtempSync(join(tmpdir(), "revenue-screenshots-"));
const demo = spawn(process.execPath, [fileURLToPath(new URL("demo.js", import.meta.url))], {
  cwd: folder,
  env: { ...process.env, PORT: "0" },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(demo, "close");
// Also when this is ended by a signal, the demo does not stay.
process.once("exit", () => demo.kill("SIGINT"));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
try {
  demo.stdout.pipe(process.stdout, { end: false });
  // The link is printed when all of its history is booked.
  const refused = () => new Error("the demo ended before it was played");
  await takeAll(await addressOf(demo.stdout, /(http:\S+)\/setup#/, ended, refused));
} finally {
  demo.kill("SIGINT");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

async function takeAll(base: string): Promise<void> {
  mkdirSync(images, { recursive: true });
  const browser = await launchChromium();
  try {
    const context = await openDashboard(browser, base, join(folder, "demo-data", "data"), {
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    await take(page, "overview", "/overview");
    await take(page, "mrr", "/mrr?group_by=product");
    await take(page, "retention", "/retention");
    await take(page, "live", "/live");
    await open(page, "/transactions?type=subscription");
    await page.locator("tbody a.row-link").first().click();
    await page.getByRole("dialog").getByRole("heading", { name: "Ledger entries" }).waitFor();
    await take(page, "transaction");
    await page.getByRole("dialog").locator('a[href*="/events/evt_"]').first().click();
    await page.waitForURL(/\/events\//);
    await take(page, "event");
    await takeReach(page, base);
  } finally {
    await browser.close();
  }
}

/** What leaves the dashboard, each as it is set up. */
async function takeReach(page: Page, base: string): Promise<void> {
  await open(page, "/settings/alerts?figure=mrr");
  await page.getByLabel("Condition").selectOption("above");
  await page.getByLabel("Value").fill("40000");
  await page.getByText("in the last 90 days").waitFor();
  await take(page, "alert");

  await open(page, "/settings/digests");
  await page.getByRole("button", { name: "Preview", exact: true }).click();
  await page.getByRole("region", { name: "Preview" }).waitFor();
  await take(page, "digest");

  await open(page, "/settings/webhooks");
  await page.getByRole("button", { name: "Add an endpoint" }).click();
  await take(page, "webhooks");

  await open(page, "/settings/proofs");
  await page.getByRole("button", { name: "New proof" }).click();
  await page.getByLabel(/^Title/).fill("Our MRR");
  await page.getByLabel("Name of the business").fill("Fernwood Software");
  await page.getByLabel(/^Figure/).selectOption("mrr_over_time");
  await page.getByLabel("Whole months").fill("12");
  await page.getByRole("button", { name: "Publish" }).click();
  const published = await page.getByRole("link", { name: "Our MRR" }).getAttribute("href");
  await page.goto(published ?? "");
  await take(page, "proof");

  const redirectUri = "http://localhost:7777/done";
  const registered = await fetch(new URL("/oauth/register", base), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Your assistant", redirect_uris: [redirectUri] }),
  });
  const { client_id: client } = z.object({ client_id: z.string() }).parse(await registered.json());
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: redirectUri,
    code_challenge: hash("sha256", "of the picture", "base64url"),
    code_challenge_method: "S256",
  });
  await page.goto(`/connect?${asked.toString()}`);
  await page.getByRole("heading", { name: "Connect Your assistant?" }).waitFor();
  await take(page, "assistant");
}

/** @param path left out: of what is open */
async function take(page: Page, name: string, path?: string): Promise<void> {
  if (path !== undefined) await open(page, path);
  await drawn(page);
  await page.screenshot({ path: join(images, `${name}.png`) });
  process.stdout.write(`docs/images/${name}.png\n`);
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.waitForURL(/workspace=/);
  await drawn(page);
}

async function drawn(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await page.waitForLoadState("networkidle");
  await page.locator(".skeleton, .skeleton-block, .is-stale").first().waitFor({ state: "hidden" });
}
