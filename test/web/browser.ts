/** Chromium as Debian packages it, for tests that look at the dashboard as people do. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type Page, chromium } from "playwright-core";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** @returns null where there is none; in CI that is a failure */
export async function openBrowser(): Promise<Browser | null> {
  const executablePath = places.find((place) => existsSync(place));
  if (executablePath === undefined) {
    if (process.env.CI === "true") throw new Error("no Chromium: apt-get install chromium");
    process.stderr.write("The dashboard is not looked at: there is no Chromium.\n");
    return null;
  }
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

/** @returns what axe finds on the page, in short */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found: unknown = await page.evaluate(
    "axe.run(document).then(({ violations }) => violations.flatMap(({ id, nodes }) => " +
      "nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))",
  );
  return Array.isArray(found) ? found.map(String) : ["axe answered nothing"];
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
