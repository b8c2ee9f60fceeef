/** What people open the dashboard for: each in three clicks from the overview. */
import { statSync } from "node:fs";
import { expect } from "chai";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import { projectFile } from "../../runtime/project-root.js";
import { LookedAt, seen } from "./browser.js";
import { type OpenWorkspace, bookEvents, eventOf, openWorkspace } from "./workspace.js";

const clicksMax = 3;

const now = new Date();
const monthStart = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
const thisMonth = new Date((monthStart + now.getTime()) / 2).toISOString();
/** The tenth day of a month so many before this one. */
const tenth = (back: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 10)).toISOString();

describe("Tasks from the overview", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let context: BrowserContext;
  let open: OpenWorkspace["open"];
  let page: Page;
  let looked: LookedAt;
  let workspace = "";
  let clicks = 0;

  before(async function () {
    ({ context, endpoints, looked, open, page, workspace } = await openWorkspace(this, "At work", {
      permissions: ["clipboard-read", "clipboard-write"],
    }));
    await bookEvents(endpoints, workspace, "Production", [
      event("subscription.new", "ada", 100, tenth(14), "DE"),
      event("subscription.new", "grace", 60, tenth(3), "FR"),
      event("subscription.new", "alan", 40, tenth(2), "US"),
      event("subscription.churn", "grace", 60, thisMonth, "FR"),
      event("transaction.sale", "linus", 25, tenth(1), "FI"),
    ]);
  });
  after(() => page?.context().close());

  const event = (type: string, id: string, amount: number, at: string, country: string) =>
    eventOf(type, id, amount, at, {
      customer_name: id,
      customer_email: `${id}@example.com`,
      customer_country: country,
      transaction_id: `pay_${id}`,
    });

  async function click(what: Locator): Promise<void> {
    clicks += 1;
    await what.click();
    await looked.settle();
  }
  /** Into a field that is clicked into first. */
  async function write(field: Locator, text: string): Promise<void> {
    await click(field);
    await field.fill(text);
  }
  /** Keys alone: opened, typed into, the first line taken. */
  async function goTo(text: string): Promise<void> {
    clicks += 1;
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(text);
    await page.keyboard.press("Enter");
    await looked.settle();
  }
  const link = (name: string) => page.getByRole("link", { name, exact: true });
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const title = (name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
  const parameter = (name: string) => new URL(page.url()).searchParams.get(name);

  const tasks: readonly (readonly [task: string, work: () => Promise<void>])[] = [
    [
      "see why MRR changed since last month, and open the event of the top loss",
      async () => {
        await click(link("All changes"));
        const losses = page.getByRole("region", { name: "Top losses" });
        await click(losses.getByRole("link", { name: "grace" }));
        await click(page.locator(".timeline .bad").getByRole("link", { name: "webhook" }));
        await title("Event");
      },
    ],
    [
      "sort accounts by MRR",
      async () => {
        await click(link("Accounts"));
        await click(link("MRR").last());
        const names = await page.locator("tbody th").allInnerTexts();
        expect(names).to.deep.equal(["grace", "alan", "ada"]);
      },
    ],
    [
      "find a customer by e-mail",
      async () => {
        await goTo("alan@example.com");
        await title("alan");
      },
    ],
    [
      "find a customer by an exact id",
      async () => {
        await goTo("cus_grace");
        await title("grace");
      },
    ],
    [
      "find a customer who paid once, whatever part of the figures is shown",
      async () => {
        await click(button("Filter"));
        await click(page.getByRole("checkbox", { name: "Germany" }));
        await goTo("linus@example.com");
        await title("linus");
      },
    ],
    [
      "compare revenue with a year ago",
      async () => {
        await click(link("Revenue").first());
        await click(button("Compared with: "));
        await click(link("Year before"));
        await seen(page, "Compared with");
        expect(parameter("compare")).to.equal("year");
      },
    ],
    [
      "see monthly churn as a series",
      async () => {
        const churn = page.locator(".figure-cell").filter({ hasText: "Customer churn" });
        await click(churn.locator("a.value"));
        expect(await page.locator(".chart a[data-column]").count()).to.equal(12);
        expect(parameter("of")).to.equal("customerChurn");
      },
    ],
    [
      "filter by two countries",
      async () => {
        await click(button("Filter"));
        await click(page.getByRole("checkbox", { name: "Germany" }));
        await click(page.getByRole("checkbox", { name: "United States" }));
        expect(parameter("country")).to.equal("DE,US");
      },
    ],
    [
      "see retention curves",
      async () => {
        await click(link("Retention"));
        expect(await page.locator("figure .chart path.line").count()).to.be.at.least(3);
      },
    ],
    [
      "add an annotation",
      async () => {
        await click(button("Saved views and notes"));
        await write(page.getByLabel("Note, shown in charts"), "Prices raised");
        await click(button("Add"));
        await page.getByRole("button", { name: "Delete the note Prices raised" }).waitFor();
      },
    ],
    [
      "copy a frozen link",
      async () => {
        await click(link("Freeze"));
        await click(button("Copy link"));
        const copied = String(await page.evaluate("navigator.clipboard.readText()"));
        expect(copied).to.equal(page.url());
        expect(new URL(copied).searchParams.get("known_at")).to.be.a("string");
      },
    ],
    [
      "open the signed event behind a transaction",
      async () => {
        await click(page.locator(".strip").last().getByRole("link", { name: "Plan" }).first());
        await click(page.getByRole("dialog").locator(".timeline a[href*='/events/']").first());
        await title("Event");
      },
    ],
  ];
  it("should be on the overview after 70 KB of scripts and styles, gzipped", async () => {
    // A new membership renews the session, which two browsers at once must not share meanwhile.
    await open("/overview");
    const fresh = await context.browser()?.newContext({
      baseURL: endpoints.base,
      storageState: await context.storageState(),
    });
    if (fresh === undefined) throw new Error("There is no browser.");
    const first = await fresh.newPage();
    const paths = new Set<string>();
    first.on("response", (answer) => paths.add(new URL(answer.url()).pathname));
    await first.goto(`/overview?workspace=${workspace}`);
    await new LookedAt(first).settle();
    await first.locator("figure .chart path.line").first().waitFor();
    await fresh.close();
    const files = [...paths].filter((path) => path.startsWith("/assets/"));
    expect(files.length).to.be.greaterThan(3);
    const sizes = files.map((path) => statSync(projectFile("dist", "web", `${path}.gz`)).size);
    expect(sizes.reduce((sum, size) => sum + size)).to.be.at.most(70_000);
  });

  for (const [task, work] of tasks) {
    it(`should ${task}`, async () => {
      await open("/overview");
      clicks = 0;
      await work();
      expect(clicks).to.be.within(1, clicksMax);
    });
  }
});
