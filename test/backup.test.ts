/**
 * Backups as an operator makes and restores them: the built service and its commands as processes,
 * killed where it hurts. What a restored installation answers is what the first one answered.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect } from "chai";
import * as fc from "fast-check";
import { clickhouseTables } from "../backends/backup/clickhouse-part.js";
import { postgresTables } from "../backends/backup/postgres-part.js";
import { projectFile } from "../backends/root.js";
import { type Clocks, answersOf, expectSameAnswers } from "./model/answers.js";
import { type Merchant, openMerchant, sendAll, toldByDoors, whenBooked } from "./model/merchant.js";
import { portfolios } from "./model/portfolio.js";
import { type Sent, dayMs, secondMs } from "./model/story.js";
import {
  doorOf,
  freePort,
  kill,
  runCommand,
  startCommand,
  startService,
  whenReady,
} from "./service-process.js";

const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;
const seed = 20_261_121;

describe("Backups", function suite() {
  this.timeout(180_000);
  const root = mkdtempSync(join(tmpdir(), "revenue-backup-"));
  const first = join(root, "first");
  const backups = join(root, "backups");
  let child: ChildProcess | undefined;
  let merchant: Merchant;
  let events: readonly Sent[];
  let clocks: readonly Clocks[];
  let answers: ReadonlyMap<string, unknown>;
  let backup: string;

  before(async () => {
    await start(first);
    const { port } = running();
    merchant = await openMerchant(doorOf(first, port), "EUR");
    events = largestPortfolio();
    const half = Math.floor(events.length / 2);
    await sendAll(merchant, events.slice(0, half));
    const knownAt = await whenBooked(merchant);
    await sendAll(merchant, events.slice(half));
    await whenBooked(merchant);
    const at = new Date(end).toISOString();
    clocks = [{ at }, { at, known_at: knownAt }];
    answers = await answersOf(merchant, clocks);
    await stop();
  });

  after(async () => {
    if (child !== undefined) await kill(child);
    rmSync(root, { recursive: true, maxRetries: 5 });
  });

  it("should hold every table there is", () => {
    // An installation's own: the ids its public topics are written under, and who works on it now.
    const postgres = [...postgresTables, "schema_ids", "leases", "doors"];
    expect([...clickhouseTables].sort()).to.deep.equal(madeIn("clickhouse"));
    expect(postgres.sort()).to.deep.equal(madeIn("postgres"));
  });

  it("should be made whole, and keep as many as asked for", async () => {
    for (let made = 0; made < 2; made += 1) {
      const { code, told } = await runCommand(first, ["backup", "--to", backups, "--keep", "1"]);
      expect(told).to.match(/Made .*The vault key [0-9a-f]{16} is not inside/s);
      expect(code).to.equal(0);
      backup = /Made (\S+)/.exec(told)?.[1] ?? "";
    }
    expect(readdirSync(backups)).to.deep.equal([basename(backup)]);
    expect(existsSync(join(backup, "vault.key"))).to.equal(false);
  });

  it("should be restored after a kill in the middle, and answer the same", async () => {
    const second = join(root, "second");
    const vaultKey = readFileSync(join(first, "vault.key"), "utf8").trim();
    const env = { VAULT_ENCRYPTION_KEY: vaultKey };
    for (const part of ["the tables of ClickHouse", "the log", "the tables of Postgres"]) {
      await killedRestore(second, env, `Restoring ${part}.`);
      const refused = await runCommand(second, ["audit"], env);
      expect(refused.told, part).to.include("A restore into this installation did not end");
    }
    const restored = await runCommand(second, ["restore", "--from", backup], env);
    expect(restored.told).to.include("Restored.");
    await start(second, env);
    await expectSame(second);
    // What is sent again changes nothing, and what is under way is gone on with.
    await sendAll(merchantAt(second), events);
    await whenBooked(merchantAt(second));
    await expectSame(second);
    await stop();
    const audited = await runCommand(second, ["audit"], env);
    expect(audited.told).to.match(/^Everything is as it should be \([1-9]/);
  });

  it("should not be restored over anything", async () => {
    const before = readFileSync(join(first, "vault.key"), "utf8");
    const { code, told } = await runCommand(first, ["restore", "--from", backup]);
    expect(told).to.match(
      /restored into an empty installation; this one has 1 workspaces; rows in/,
    );
    expect(code).to.equal(2);
    expect(readFileSync(join(first, "vault.key"), "utf8")).to.equal(before);
  });

  it("should carry the vault key when told to, and then need nothing else", async () => {
    const third = join(root, "third");
    const withKey = join(root, "with-key");
    const made = await runCommand(first, ["backup", "--to", withKey, "--with-key"]);
    expect(made.told).to.include("The vault key is inside");
    const [name = ""] = readdirSync(withKey);
    const { code, told } = await runCommand(third, ["restore", "--from", join(withKey, name)]);
    expect(told).to.include("Restored.");
    expect(code).to.equal(0);
    const replayed = await runCommand(third, ["replay"]);
    expect(replayed.told).to.include("Replayed.");
    await start(third);
    await expectSame(third);
    await stop();
  });

  const otherKey = { VAULT_ENCRYPTION_KEY: "ab".repeat(32) };
  const spoiled: [what: string, spoil: (copy: string) => void, said: RegExp, env?: object][] = [
    ["lacks a file", (copy) => rmSync(someFile(copy)), /is missing/],
    ["has a file cut short", (copy) => truncateSync(someFile(copy), 10), /has 10 bytes instead of/],
    ["has a byte changed", flipByte, /was changed/],
    ["lacks its manifest", (copy) => rmSync(join(copy, "manifest.json")), /holds no whole backup/],
    [
      "has its manifest changed",
      (copy) => appendFileSync(join(copy, "manifest.json"), " x\n"),
      /is damaged/,
    ],
    ["needs a key that is not here", () => undefined, /sealed under the vault key [0-9a-f]{16}\./],
    ["needs another key", () => undefined, /and this installation has/, otherKey],
  ];
  for (const [what, spoil, said, env] of spoiled) {
    it(`should be refused when it ${what}, and nothing touched`, async () => {
      const copy = mkdtempSync(join(root, "spoiled-"));
      cpSync(backup, copy, { recursive: true });
      spoil(copy);
      const target = join(copy, "target");
      const { code, told } = await runCommand(target, ["restore", "--from", copy], { ...env });
      expect(told).to.match(said);
      expect(code).to.equal(2);
      expect(existsSync(target)).to.equal(false);
    });
  }

  it("should leave nothing when the disk is full", async () => {
    const full = join(root, "full");
    const child = startCommand(first, ["backup", "--to", full], {}, { fileBlocksMax: 8 });
    await once(child, "close");
    expect(child.exitCode).to.not.equal(0);
    const whole = readdirSync(full).filter((name) => existsSync(join(full, name, "manifest.json")));
    expect(whole).to.deep.equal([]);
    const again = await runCommand(first, ["backup", "--to", full]);
    expect(again.code, again.told).to.equal(0);
    expect(readdirSync(full)).to.have.lengthOf(1);
  });

  /** Ended without warning when it tells this. */
  async function killedRestore(folder: string, env: NodeJS.ProcessEnv, at: string): Promise<void> {
    const command = startCommand(folder, ["restore", "--from", backup], env);
    const exited = once(command, "exit");
    command.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes(at)) command.kill("SIGKILL");
    });
    await exited;
    expect(command.signalCode, at).to.equal("SIGKILL");
  }

  function merchantAt(folder: string): Merchant {
    return { ...merchant, door: doorOf(folder, running().port) };
  }

  async function expectSame(folder: string): Promise<void> {
    expectSameAnswers(await answersOf(merchantAt(folder), clocks), answers);
  }

  let port: number | undefined;
  function running(): { readonly port: number } {
    if (port === undefined) throw new Error("no service is running");
    return { port };
  }

  async function start(folder: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
    port = await freePort();
    child = startService(folder, port, env);
    await whenReady(child, port);
  }

  async function stop(): Promise<void> {
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }
});

function someFile(backup: string): string {
  return join(backup, "clickhouse", "money_facts.native.gz");
}

function flipByte(backup: string): void {
  const bytes = readFileSync(someFile(backup));
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8((bytes[middle] ?? 0) ^ 1, middle);
  writeFileSync(someFile(backup), bytes);
}

/** Tables the migrations make, sorted. */
function madeIn(database: string): string[] {
  const folder = projectFile("migrations", database);
  const statements = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const made = /CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g;
  return [...statements.join("\n").matchAll(made)].map(([, name = ""]) => name).sort();
}

/** Of many random ones, so that every provider and kind of event is there. */
function largestPortfolio(): readonly Sent[] {
  const drawn = fc.sample(portfolios(end), { numRuns: 30, seed });
  const told = drawn.map(({ deliveries }) => toldByDoors(deliveries));
  const [largest = []] = told.sort((one, other) => other.length - one.length);
  expect(largest).to.have.lengthOf.above(20);
  return largest;
}
