/** What stands around the screens: what happens when something is missing, and ways to go on. */
import { setTimeout } from "node:timers/promises";
import { expect } from "chai";
import type { BrowserContext, Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { gone, LookedAt, openPage, seen } from "./browser.js";
import { bookEvents, createWorkspace, inWorkspace, openWorkspace } from "./workspace.js";

const longName = "W".repeat(200);
const dayMs = 24 * 60 * 60 * 1000;
/** In the middle of a day of UTC and of the zone below. */
const paidAt = `${new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10)}T12:34:56.000Z`;

describe("Around the screens", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let context: BrowserContext;
  let page: Page;
  let workspace = "";

  before(async function () {
    const opened = await openWorkspace(this, "Around", { timezoneId: "Asia/Kolkata" });
    ({ endpoints, context, workspace } = opened);
    await opened.page.close();
    await playOne();
  });
  after(() => context?.close());
  beforeEach(async () => {
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
  });
  afterEach(async () => {
    await context.setOffline(false);
    await page.close();
  });

  /** A subscription of a large amount, to a product with a long name. */
  const playOne = () =>
    bookEvents(endpoints, workspace, "Production", [
      {
        provider: "stripe",
        event_type: "subscription.new",
        amount: 123_456_789.5,
        currency: "USD",
        occurred_at: paidAt,
        subscription_id: "large",
        product_id: "long",
        product_name: longName,
      },
    ]);

  const at = (path: string): string => inWorkspace(path, workspace);
  const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
  const link = (name: string) => page.getByRole("link", { name, exact: true });

  it("should ask for nothing in vain when nobody is signed in", async function () {
    const looked = await openPage(this);
    await looked.page.goto(`${endpoints.base}/mrr`);
    await looked.page.waitForURL(/\/sign-in\?return_to=/);
    await looked.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await looked.settle();
    expect(looked.complaints).to.deep.equal([]);
    await looked.page.context().close();
  });

  describe("when the file of a screen is missing", () => {
    const file = "**/assets/retention-*.js";

    it("should load the page anew, which knows its new name", async () => {
      await page.goto(at("/overview"));
      await page.route(file, (route) => route.fulfill({ status: 404 }), { times: 1 });
      await link("Retention").click();
      await heading("Retention").waitFor();
      expect(page.url()).to.include("/retention");
    });

    it("should say so when that did not help, and load it when asked again", async () => {
      let asked = 0;
      await page.goto(at("/overview"));
      await page.route(file, (route) => {
        asked += 1;
        return route.fulfill({ status: 404 });
      });
      await link("Retention").click();
      await heading("This screen could not be loaded").waitFor();
      expect(asked).to.equal(2);
      await page.unroute(file);
      await page.getByRole("button", { name: "Try again" }).click();
      await heading("Retention").waitFor();
    });

    it("should wait for the network to come back", async () => {
      await page.goto(at("/overview"));
      await heading("Overview").waitFor();
      // What is intercepted is not taken from what the browser keeps.
      await page.route(file, (route) => route.continue());
      await context.setOffline(true);
      await link("Retention").click();
      await heading("This screen could not be loaded").waitFor();
      expect(await heading("Overview").count()).to.equal(0);
      // The browser says that it is there before anything answers, and the page comes slowly then.
      await page.route("**/icon.svg", (route) => route.abort(), { times: 1 });
      let loaded = 0;
      await page.route("**/retention?*", async (route) => {
        loaded += 1;
        await setTimeout(2500);
        await route.continue();
      });
      await context.setOffline(false);
      await heading("Retention").waitFor();
      expect(loaded).to.equal(1);
    });
  });

  it("should say that the service does not answer, and ask again", async () => {
    await page.route("**/v1/metrics/**", (route) => route.abort());
    await page.goto(at("/overview"));
    // Several parts of the screen may say so; one is asked, and all are shown.
    await seen(page, "The service cannot be reached.");
    expect(await page.locator(".figures .skeleton").first().isVisible()).to.equal(false);
    await page.unroute("**/v1/metrics/**");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await until(async () => (await page.locator(".failure").count()) === 0);
    await page.locator(".figures .skeleton").first().waitFor({ state: "detached" });
  });

  it("should say that the session cannot be read, and read it when it can", async () => {
    await page.clock.install();
    await page.route("**/v1/session", (route) => route.abort());
    await page.goto(at("/overview"));
    await seen(page, "The service cannot be reached.");
    await page.unroute("**/v1/session");
    await page.clock.fastForward(10_000);
    await heading("Overview").waitFor();
  });

  it("should say that an answer takes long", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route("**/v1/metrics/summary*", async (route) => {
      await released;
      await route.continue();
    });
    await page.goto(at("/overview"));
    await seen(page, "Still waiting for the service");
    release();
    await gone(page, "Still waiting for the service");
  });

  it("should name a workspace of its own where the address names none", async () => {
    await page.goto("/mrr?workspace=ws_nowhere");
    await heading("No such workspace").waitFor();
    await page.getByRole("link", { name: /^Open / }).click();
    await heading("MRR").waitFor();
    expect(page.url()).not.to.include("ws_nowhere");
  });

  const ranges: [range: string, said: RegExp][] = [
    ["from=2026-05-01&to=2026-04-01", /ends before it begins/],
    ["from=2026-05-01&to=2026-05-01", /ends before it begins/],
    ["from=2999-01-01", /ends before it begins/],
    ["from=2026-02-31&to=2026-04-01", /is not two days/],
    ["from=yesterday", /is not two days/],
  ];
  for (const [range, said] of ranges) {
    it(`should say what is wrong with ${range}, and show a range that can be`, async () => {
      await page.goto(at(`/mrr?${range}`));
      await seen(page, said);
      await page.getByRole("button", { name: "Range: Last 12 months" }).waitFor();
      await link("Forget that range").click();
      await gone(page, said);
      expect(page.url()).not.to.include("from=");
    });
  }

  it("should refuse a last day before the first one, and say so", async () => {
    await page.goto(at("/mrr"));
    await page.getByRole("button", { name: /^Range/ }).click();
    await page.getByLabel("First day").fill("2026-05-02");
    await page.getByLabel("Last day").fill("2026-05-01");
    await page.getByRole("button", { name: "Show these days" }).click();
    expect(await page.locator("input[name=last]:invalid").count()).to.equal(1);
    expect(page.url()).not.to.include("from=");
    await page.getByLabel("Last day").fill("2026-05-02");
    await page.getByRole("button", { name: "Show these days" }).click();
    await page.waitForURL(/from=2026-05-02&to=2026-05-03/);
  });

  it("should hold an address that cannot be read at all", async () => {
    await page.goto(at("/mrr?at=yesterday&known_at=never"));
    await page.getByRole("alert").first().waitFor();
    await link("Back to now").click();
    await page.getByRole("link", { name: /^End:/ }).waitFor();
  });

  it("should write moments in the reader's zone, and keep UTC at hand", async () => {
    const written = (timeZone: string): string =>
      new Intl.DateTimeFormat("en-US", {
        day: "numeric",
        month: "short",
        year: "numeric",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
        timeZoneName: "short",
        timeZone,
      }).format(new Date(paidAt));
    await page.goto(at("/transactions"));
    const moment = page.locator("tbody time").first();
    expect(await moment.textContent()).to.include("06:04 PM");
    const both = `${written("Asia/Kolkata")} (${written("UTC")})`;
    expect(await moment.getAttribute("title")).to.equal(both);
    await seen(page, "Times in GMT+5:30, days and months in UTC");
    await moment.click();
    await page.getByRole("dialog").getByText(both).waitFor();
  });

  describe("with names of 200 characters and large amounts", () => {
    before(() => rename(longName));
    after(() => rename("Around"));

    async function rename(name: string): Promise<void> {
      const answer = await context.request.patch(`/v1/manage/workspaces/${workspace}`, {
        headers: { origin: endpoints.base },
        data: { name },
      });
      expect(answer.status(), await answer.text()).to.equal(200);
    }

    const paths = [
      "/overview",
      "/mrr?group_by=product",
      "/mrr/movements",
      "/mrr/definitions",
      "/revenue?group_by=product",
      "/rates",
      "/retention",
      "/products?period=lifetime",
      "/transactions",
      "/accounts",
      "/live",
      "/what-changed?by=product",
      "/why",
      "/settings/workspace",
    ];
    for (const path of paths) {
      it(`should keep ${path} as wide as the window`, async () => {
        await page.goto(at(path));
        await page.locator("h1").waitFor();
        await new LookedAt(page).settle();
        for (const width of [360, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          expect(beyond, `${path} at ${width}`).to.be.at.most(0);
        }
        const beside = page.getByRole("group", { name: "Environment" });
        const { width = 0 } = (await beside.boundingBox()) ?? {};
        const test = await beside.getByRole("link", { name: "Test" }).boundingBox();
        expect(test?.width, "the switch is seen whole").to.be.closeTo(width / 2, 2);
      });
    }

    it("should say the whole of a name that is cut", async () => {
      await page.goto(at("/transactions"));
      const name = page.getByRole("link", { name: longName });
      await name.hover();
      expect(await name.getAttribute("title")).to.equal(longName);
      const { height = 0 } = (await name.boundingBox()) ?? {};
      await page.locator("tbody a").first().focus();
      await page.keyboard.press("Tab");
      expect((await name.boundingBox())?.height, "all its lines").to.be.greaterThan(height * 2);
    });

    it("should show a large figure whole", async () => {
      await page.goto(at("/overview"));
      await seen(page, "$123,456,790", { exact: true });
      for (const width of [360, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        const cut = await page.evaluate(
          "[...document.querySelectorAll('.figure-cell .value')]" +
            ".filter((value) => value.scrollWidth > value.clientWidth).length",
        );
        expect(cut, `at ${width}`).to.equal(0);
      }
    });
  });

  it("should have no step of an axis that the currency has not", async () => {
    const yen = await createWorkspace(context, endpoints, "Yen", "JPY");
    await page.goto(`/mrr/definitions?workspace=${yen}`);
    await page.locator(".chart text", { hasText: "¥" }).first().waitFor();
    const labels = await page.locator(".chart text").allTextContents();
    expect(labels.filter((label) => label.startsWith("¥"))).to.include("¥1");
    expect(labels.filter((label) => /¥\d*\.\d/.test(label))).to.deep.equal([]);
  });

  it("should leave room for the labels of any language", async () => {
    const arabic = await context.browser()?.newContext({
      locale: "ar-EG",
      storageState: await context.storageState(),
    });
    const other = await arabic?.newPage();
    await other?.goto(`${endpoints.base}${at("/mrr")}`);
    await other?.getByRole("link", { name: /^End:/ }).waitFor();
    const beyond = await other?.evaluate(
      "Math.min(...[...document.querySelectorAll('.chart text')].map((label) =>" +
        "label.getBoundingClientRect().left - label.closest('svg').getBoundingClientRect().left))",
    );
    expect(beyond).to.be.at.least(0);
    await arabic?.close();
  });

  it("should leave no bright strip beside a dialog", async () => {
    await page.goto(at("/overview"));
    await heading("Overview").waitFor();
    const ground = (): Promise<unknown> =>
      page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const before = await ground();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(await ground()).not.to.equal(before);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await ground()).to.equal(before);
  });

  describe("The palette", () => {
    /** One for all: nothing that is offered leads away from it, but the last. */
    let opened: Page;
    const title = (name: string) => opened.getByRole("heading", { name, exact: true, level: 1 });
    before(async () => {
      opened = await context.newPage();
      await opened.goto(at("/overview"));
      await title("Overview").waitFor();
    });
    after(() => opened?.close());
    afterEach(async () => {
      await opened.keyboard.press("Escape");
      await opened.getByRole("dialog").waitFor({ state: "detached" });
    });
    const found: [text: string, first: string][] = [
      ["revenue", "Revenue"],
      ["retention", "Retention"],
      ["settings", "Settings"],
      ["freeze", "Freeze these figures"],
      ["activity", "Workspace activity"],
      ["live", "Live feed"],
      ["changed", "What changed"],
      ["knew", "What we knew when"],
      ["months", "Last 3 months"],
      ["around", "Around"],
      ["in_1Nx40ZLkdIwHu7ix", "Transactions by a provider's id"],
      ["cus_Na6dX7aXxi11N4", "Customers by a provider's id"],
      ["ada@example.com", "Customers by an e-mail"],
      ["0aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1d", "Open the account"],
      ["evt_norm_1", "Open the event"],
    ];
    for (const [text, first] of found) {
      it(`should offer “${first}” first for “${text}”`, async () => {
        await openPalette(text);
        const option = opened.getByRole("option").first();
        await option.getByText(first, { exact: true }).waitFor();
        expect(await option.getAttribute("aria-selected")).to.equal("true");
      });
    }

    it("should say that it finds nothing", async () => {
      await openPalette("qwertyuiop");
      await opened.getByRole("status").getByText("Nothing is called “qwertyuiop”").waitFor();
      expect(await opened.getByRole("option").count()).to.equal(0);
      await opened.keyboard.press("Enter");
      await opened.getByRole("dialog").waitFor();
    });

    it("should name nothing twice", async () => {
      await openPalette("");
      const keys = await opened.getByRole("option").allTextContents();
      expect(new Set(keys).size).to.equal(keys.length);
    });

    it("should open what is chosen", async () => {
      await openPalette("retention");
      await opened.keyboard.press("Enter");
      await title("Retention").waitFor();
    });

    async function openPalette(text: string): Promise<void> {
      await opened.keyboard.press("Control+k");
      await opened.locator("dialog input:focus").waitFor();
      await opened.keyboard.type(text);
    }
  });
});
