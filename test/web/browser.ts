/** For tests that look at the dashboard as people do. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { NoChromium, launchChromium } from "../../ops/chromium.js";
import { testReleases } from "../harness/stores.js";

let launched: Promise<Browser | null> | undefined;

testReleases.push("browser", async () => (await launched)?.close());

/** One for all files of a process. Where there is none the suite is left out; in CI that fails. */
export async function openBrowser(suite: Mocha.Context): Promise<Browser> {
  launched ??= launchChromium().catch((error: unknown) => {
    if (process.env.CI === "true" || !(error instanceof NoChromium)) throw error;
    process.stderr.write("The dashboard is not looked at: there is no Chromium.\n");
    return null;
  });
  return (await launched) ?? suite.skip();
}

/** A page of its own, without what others were signed in as. */
export async function openPage(suite: Mocha.Context): Promise<LookedAt> {
  const browser = await openBrowser(suite);
  // Nothing moves, so that colours are those of the end.
  const context = await browser.newContext({ locale: "en-US", reducedMotion: "reduce" });
  return new LookedAt(await context.newPage());
}

/** Resolves when a text is seen: a screen may show it in several places, or twice for a while. */
export function seen(...where: Text): Promise<void> {
  return first(...where).waitFor();
}

/** Resolves when a text is nowhere. */
export function gone(...where: Text): Promise<void> {
  return first(...where).waitFor({ state: "detached" });
}

type Text = readonly [page: Page, text: string | RegExp, options?: { readonly exact: true }];
function first(...[page, ...text]: Text): Locator {
  return page.getByText(...text).first();
}

const schemes = ["light", "dark"] as const;
const widths = [360, 1440];

export class LookedAt {
  /** What went wrong in the page, in its own words. */
  readonly complaints: string[] = [];
  #begun = 0;
  #underWay = 0;
  readonly #whenQuiet: (() => void)[] = [];

  constructor(readonly page: Page) {
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(message.text());
    });
    page.on("request", () => {
      this.#begun += 1;
      this.#underWay += 1;
    });
    page.on("requestfinished", () => this.#ended());
    page.on("requestfailed", () => this.#ended());
  }

  /** Loads it once, and finds nothing wrong in both schemes, on phones and on wide screens. */
  async findNothingWrong(url: string): Promise<void> {
    const { page } = this;
    await page.goto(url);
    await page.locator("h1").first().waitFor();
    await this.settle();
    await page.evaluate(axe);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        await this.settle();
        const where = `${new URL(page.url()).pathname} ${colorScheme} ${width}`;
        const rules = colorScheme === schemes[0] ? allRules : rulesOfColor;
        expect(await page.evaluate(findings(rules)), where).to.deep.equal([]);
        const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect(beyond, `${where} is too wide`).to.be.at.most(0);
      }
    }
  }

  /** What axe finds on the page as it is. */
  async findings(): Promise<unknown> {
    await this.page.evaluate(axe);
    return this.page.evaluate(findings(allRules));
  }

  /** Resolves when nothing is on its way and no placeholder is left, for two frames. */
  async settle(): Promise<void> {
    let begun: number;
    do {
      if (this.#underWay > 0) await new Promise<void>((resolve) => this.#whenQuiet.push(resolve));
      begun = this.#begun;
      await this.page.evaluate(withoutPlaceholders);
    } while (this.#underWay > 0 || this.#begun > begun);
  }

  #ended(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    for (const resolve of this.#whenQuiet.splice(0)) resolve();
  }
}

/** In the page, where looking at each frame costs no calls. */
const withoutPlaceholders = `new Promise((resolve) => {
  let quiet = 0;
  requestAnimationFrame(function look() {
    const placeholder = document.querySelector(".skeleton, .skeleton-block, .is-stale");
    quiet = placeholder === null ? quiet + 1 : 0;
    if (quiet === 2) resolve();
    else requestAnimationFrame(look);
  });
})`;

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const allRules = "resultTypes: ['violations']";
/** A scheme changes colours alone: what the others find in one they find in the other. */
const rulesOfColor = `${allRules}, runOnly: ['color-contrast', 'link-in-text-block']`;
/** What axe finds on the page, in short. */
const findings = (options: string): string =>
  `axe.run(document, { ${options} }).then(({ violations }) => ` +
  "violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))";
