/**
 * The commands as an operator runs them over servers, where the service is one process: beside it
 * and after it. That they wait for each other is proved by sole-process.test.ts, and what carries
 * an installation from one kind of backend to the other by move.test.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { onServers } from "../harness/backends.js";
import type { ModelEvent } from "../model/facts.js";
import { expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";
import { type Merchant, openMerchant, sendAll, whenBooked } from "../model/merchant.js";
import type { Sent } from "../model/stories/story.js";
import { runCommand, SuiteService } from "../harness/service-process.js";
import { prepareProcess } from "../harness/stores.js";

type Settings = Readonly<Record<string, string>>;

describe("The commands over servers", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  const root = mkdtempSync(join(tmpdir(), "revenue-commands-"));
  const unused = join(root, "unused");
  let settings: Settings;
  let merchant: Merchant;
  let events: readonly Sent[];
  let sent: ModelEvent[];
  let backup: Awaited<ReturnType<typeof runCommand>>;

  before(async function begin() {
    if (!onServers) {
      process.stderr.write("The commands over servers: BACKENDS=servers runs them\n");
      this.skip();
    }
    settings = await prepareProcess(unused);
    const { port, endpoint } = await service.start(unused, settings);
    merchant = await openMerchant(endpoint, "EUR");
    events = largestPortfolio();
    const half = Math.floor(events.length / 2);
    sent = await sendAll(merchant, events.slice(0, half));
    await whenBooked(merchant);
    const beside = { ...settings, PORT: String(port) };
    const asking = runCommand(unused, ["backup", "--to", join(root, "backups")], beside);
    sent.push(...(await sendAll(merchant, events.slice(half))));
    backup = await asking;
    await whenBooked(merchant);
    await service.stop();
  });
  after(() => rmSync(root, { recursive: true }));

  it("should find nothing wrong, and have nothing to rebuild", async () => {
    const audited = await runCommand(unused, ["audit"], settings);
    expect(audited.reported).to.match(/^No differences \([1-9]\d* rows compared\)/m);
    const rebuilt = await runCommand(unused, ["rebuild"], settings);
    expect(rebuilt.reported).to.include("Movements are what the changes say");
  });

  it("should make empty tables from the log again", async () => {
    const empty = await prepareProcess(unused);
    const replaced = { ...settings, CLICKHOUSE_URL: empty.CLICKHOUSE_URL ?? "" };
    const refused = await runCommand(unused, ["audit"], replaced);
    expect(refused.reported).to.match(/lost rows: of \d+ booked events it has 0.* -- replay/);
    const replayed = await runCommand(unused, ["replay"], replaced);
    expect(replayed.reported).to.include("Replayed.");
    await expectModelAt(replaced);
  });

  it("should restore what was backed up while events came, and go on from there", async () => {
    const { VAULT_ENCRYPTION_KEY: key = "" } = settings;
    const restored = { ...(await prepareProcess(unused)), VAULT_ENCRYPTION_KEY: key };
    const [, from = ""] = /Made (\S+)/.exec(backup.reported) ?? [];
    const { reported } = await runCommand(unused, ["restore", "--from", from], restored);
    expect(reported, backup.reported).to.include("Restored.");
    await expectModelAt(restored, () => sendAll(merchant, events));
  });

  /** @param first done at the service that is started there */
  async function expectModelAt(
    given: Settings,
    first: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    const { endpoint } = await service.start(unused, given);
    merchant = { ...merchant, endpoint };
    await first();
    await whenBooked(merchant);
    await expectModel(merchant, sent);
    await service.stop();
    const audited = await runCommand(unused, ["audit"], given);
    expect(audited.reported).to.match(/^No differences \([1-9]/m);
  }
});
