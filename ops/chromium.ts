/** Chromium as distributions package it, and the dashboard opened in it as its owner. */
import { existsSync } from "node:fs";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
} from "playwright-core";
import { writeLinkFile } from "../workspaces/members/first-run.js";

/** The headless shell first: the same engine without the browser's own windows, for less work. */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** @throws where there is none */
export async function launchChromium(): Promise<Browser> {
  const executablePath = places.find((place) => existsSync(place));
  if (executablePath === undefined)
    throw new NoChromium("no Chromium: apt-get install chromium-headless-shell");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export class NoChromium extends Error {
  override readonly name = "NoChromium";
}

/** @param dataFolder of the embedded service at `base`, which reads the link from there */
export async function openDashboard(
  browser: Browser,
  base: string,
  dataFolder: string,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: base, locale: "en-US", ...options });
  const answer = await context.request.post("/v1/session/setup", {
    headers: { origin: base },
    data: { token: writeLinkFile(dataFolder, new Date()), name: "Ada" },
  });
  if (!answer.ok()) throw new Error(`not signed in: ${await answer.text()}`);
  return context;
}
