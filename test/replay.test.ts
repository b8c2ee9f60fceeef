/**
 * The whole raw topic, replayed into empty tables, gives the same answers: the tables are what the
 * log says. And the commands for when the service is stopped, as an operator runs them.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { expect } from "chai";
import * as fc from "fast-check";
import { placeDatabase } from "./empty-database.js";
import { at } from "./model/json.js";
import {
  type Merchant,
  openMerchant,
  read,
  sendAll,
  toldByDoors,
  whenBooked,
} from "./model/merchant.js";
import { portfolios } from "./model/portfolio.js";
import { dayMs, secondMs } from "./model/story.js";
import { doorOf, freePort, kill, runCommand, startService, whenReady } from "./service-process.js";

const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;
const seed = 20_261_121;

describe("the commands", function suite() {
  this.timeout(180_000);
  const root = mkdtempSync(join(tmpdir(), "revenue-replay-"));
  const [first, second] = [join(root, "first"), join(root, "second")];
  let child: ChildProcess | undefined;
  let merchant: Merchant;
  let clocks: readonly Readonly<Record<string, string>>[];
  let answers: ReadonlyMap<string, unknown>;

  before(async () => {
    await placeDatabase(first);
    const port = await freePort();
    child = startService(first, port);
    await whenReady(child, port);
    merchant = await openMerchant(doorOf(first, port), "EUR");
    const events = fc
      .sample(portfolios(end), { numRuns: 30, seed })
      .map(({ deliveries }) => toldByDoors(deliveries))
      .sort((one, other) => other.length - one.length)[0];
    expect(events).to.have.lengthOf.above(20);
    const half = Math.floor((events?.length ?? 0) / 2);
    await sendAll(merchant, events?.slice(0, half) ?? []);
    const knownAt = await whenBooked(merchant);
    await sendAll(merchant, events?.slice(half) ?? []);
    await whenBooked(merchant);
    const ends = { at: new Date(end).toISOString() };
    clocks = [ends, { ...ends, known_at: knownAt }];
    answers = await answersOf(merchant, clocks);
  });

  after(async () => {
    if (child !== undefined) await kill(child);
    rmSync(root, { recursive: true, maxRetries: 5 });
  });

  it("should refuse while the service works on the folder, and say so", async () => {
    const { code, told } = await runCommand(first, ["audit"]);
    expect(told).to.match(/is in use by process \d+/);
    expect(code).to.equal(2);
  });

  const wrong = [
    ["nothing"],
    ["audit", "--fast"],
    ["replay", "--repair"],
    ["replay", "--from", "x"],
  ];
  for (const words of wrong) {
    it(`should refuse ${words.join(" ")}`, async () => {
      const { code, told } = await runCommand(join(root, "none"), words);
      expect(told).to.match(/npm run ops|is no time/);
      expect(code).to.equal(2);
    });
  }

  it("should find nothing wrong once it is stopped, and have nothing to rebuild", async () => {
    await stop();
    const audited = await runCommand(first, ["audit"]);
    expect(audited.told).to.match(/^Everything is as it should be \([1-9]\d* rows compared\)/);
    expect(audited.code).to.equal(0);
    const rebuilt = await runCommand(first, ["rebuild"]);
    expect(rebuilt.told).to.include("Movements are what the changes say");
    expect(rebuilt.code).to.equal(0);
  });

  it("should answer the same after a replay into empty tables", async () => {
    cpSync(first, second, {
      recursive: true,
      filter: (path) => !path.startsWith(join(first, "clickhouse")),
    });
    const replayed = await runCommand(second, ["replay"]);
    expect(replayed.told).to.include("Replayed.");
    expect(replayed.code).to.equal(0);
    const port = await freePort();
    child = startService(second, port);
    await whenReady(child, port);
    const again = { ...merchant, door: doorOf(second, port) };
    const replayedAnswers = await answersOf(again, clocks);
    expect([...replayedAnswers.keys()]).to.deep.equal([...answers.keys()]);
    for (const [asked, answer] of answers) {
      expect(replayedAnswers.get(asked), asked).to.deep.equal(answer);
    }
  });

  async function stop(): Promise<void> {
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }
});

/** Without what tells the time of asking. */
async function answersOf(
  merchant: Merchant,
  clocks: readonly Readonly<Record<string, string>>[],
): Promise<Map<string, unknown>> {
  const questions: readonly [string, Readonly<Record<string, string>>][] = [
    ["/v1/metrics/mrr", {}],
    ["/v1/metrics/cohorts", {}],
    ["/v1/products", { period: "lifetime", limit: "200" }],
    ["/v1/transactions", { limit: "200" }],
  ];
  const answers = new Map<string, unknown>();
  for (const clock of clocks) {
    for (const [path, more] of questions) {
      const answer = await read(merchant, path, { ...clock, ...more });
      answers.set(`${path} ${JSON.stringify(clock)}`, figuresIn(answer));
    }
  }
  return answers;
}

/**
 * The rows, without how many facts each transaction's version counts: of those known by now all are
 * counted, also what was told before its link came.
 */
function figuresIn(answer: unknown): unknown {
  const data = at(answer, "data");
  if (!Array.isArray(data)) return data;
  return data.map((row: unknown) => ({ ...Object(row), version: undefined }));
}
