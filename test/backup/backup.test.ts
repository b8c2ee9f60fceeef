/**
 * The commands as an operator runs them, while the service runs and after it: the built service and
 * its commands as processes, killed where it hurts. What a restored installation answers is what
 * the first one answered, and so it is after a replay: the tables are what the log says.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect } from "chai";
import { clickhouseTables } from "../../stores/backup/clickhouse-part.js";
import { addBackup } from "../../stores/backup/folder.js";
import { BackupRefused, readManifest } from "../../stores/backup/manifest.js";
import { postgresTables } from "../../stores/backup/postgres-part.js";
import { checkBackup } from "../../stores/backup/restore.js";
import { projectFile } from "../../runtime/project-root.js";
import { placeDatabase } from "../harness/empty-database.js";
import { rejection } from "../harness/promises.js";
import { needTime } from "../harness/real-servers.js";
import { together } from "../harness/together.js";
import { type Clocks, answersOf, expectSameAnswers } from "../model/compare/answers.js";
import type { ModelEvent } from "../model/facts.js";
import { at } from "../model/readers/json.js";
import { clocksOf, expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";
import { type Merchant, openMerchant, read, sendAll, whenBooked } from "../model/merchant.js";
import type { Sent } from "../model/stories/story.js";
import { killedCommand, runCommand, SuiteService } from "../harness/service-process.js";
import { spoiledBackups } from "./spoiled-backups.js";

type Settings = Readonly<Record<string, string>>;

describe("A backup", () => {
  it("should back up every table there is", () => {
    // An installation's own: the ids its public topics are written under, who works on it now, and
    // what is booked, which is made again from the log.
    const passing = [
      "book_partitions",
      "book_values",
      "book_outbox",
      "book_seals",
      "book_place",
      "schema_ids",
      "catalogue_revisions",
      "leases",
      "ingest_processes",
      "persisted_watermark",
      "sessions",
      "oauth_clients",
      "assistants",
      "one_time_tokens",
    ];
    const postgres = [...postgresTables, ...passing];
    expect([...clickhouseTables].sort()).to.deep.equal(madeIn("clickhouse"));
    expect(postgres.sort()).to.deep.equal(madeIn("postgres"));
  });

  it("should leave no backup half made, and keep as many as asked for", async () => {
    const full = mkdtempSync(join(tmpdir(), "revenue-full-"));
    const half = async (folder: string): Promise<void> => {
      writeFileSync(join(folder, "manifest.json"), "{}");
      throw new Error("ENOSPC: no space left on device");
    };
    const failure = await rejection(addBackup(full, new Date(1), null, half));
    expect(String(failure)).to.include("ENOSPC");
    expect(readdirSync(full)).to.deep.equal([]);
    mkdirSync(join(full, "1970-01-01T00-00-00.002Z.partial"));
    const whole = await addBackup(full, new Date(3), null, async () => {
      const another = await rejection(addBackup(full, new Date(4), null, async () => undefined));
      expect(String(another)).to.include("Another backup into");
    });
    expect(readdirSync(full)).to.deep.equal([basename(whole)]);
    const newest = await addBackup(full, new Date(5), 1, async () => undefined);
    expect(readdirSync(full)).to.deep.equal([basename(newest)]);
    // The clock was set back since.
    const [before, now] = [await addBackup(full, new Date(2), 1, async () => undefined), newest];
    const after = await addBackup(full, new Date(4), 1, async () => undefined);
    expect(existsSync(before)).to.equal(false);
    expect(readdirSync(full)).to.have.members([basename(after), basename(now)]);
  });
});

describe("The commands", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  const root = mkdtempSync(join(tmpdir(), "revenue-backup-"));
  const first = join(root, "first");
  const second = join(root, "second");
  const third = join(root, "third");
  let merchant: Merchant;
  let events: readonly Sent[];
  let clocks: readonly Clocks[];
  let answers: ReadonlyMap<string, unknown>;
  let figures: ReadonlyMap<string, unknown>;
  let backup: string;
  let vaultKey: Settings;
  let sent: ModelEvent[];
  let online: Awaited<ReturnType<typeof runCommand>>;
  let locked: Awaited<ReturnType<typeof runCommand>>;

  before(async function prepare() {
    needTime(this);
    await placeDatabase(first);
    const { port, endpoint } = await service.start(first);
    merchant = await openMerchant(endpoint, "EUR");
    events = largestPortfolio();
    const half = Math.floor(events.length / 2);
    sent = await sendAll(merchant, events.slice(0, half));
    const knownAt = await whenBooked(merchant);
    const settings = { PORT: String(port) };
    const asking = runCommand(first, ["backup", "--to", join(root, "online")], settings);
    sent.push(...(await sendAll(merchant, events.slice(half))));
    online = await asking;
    await whenBooked(merchant);
    clocks = clocksOf(knownAt);
    [answers, figures, locked] = await Promise.all([
      answersOf(merchant, clocks),
      figuresRead(merchant, clocks),
      runCommand(first, ["audit"]),
    ]);
    await service.stop();
  });

  after(() => rmSync(root, { recursive: true, maxRetries: 5 }));

  it("should refuse while the service works on the folder, and say so", () => {
    expect(locked.reported).to.match(/is in use by process \d+/);
    expect(locked.code).to.equal(2);
  });

  it("should restore a backup after a kill in the middle, and answer the same", async () => {
    const made = await runCommand(first, ["backup", "--to", join(root, "offline"), "--with-key"]);
    expect(made.reported).to.include("contains the vault key");
    backup = pathIn(made.reported);
    expect((await readManifest(backup)).manifest.installation).to.match(/^[0-9a-f]{16}$/);
    const words = ["restore", "--from", backup];
    for (const part of ["the log", "the tables of Postgres"]) {
      await killedCommand(second, words, `Restoring ${part}.`);
    }
    const refused = await runCommand(second, ["audit"]);
    expect(refused.reported).to.include("A restore into this installation did not end");
    const restored = await runCommand(second, words);
    expect(restored.reported).to.include("Restored.");
    const restoredAt = await start(second);
    expectSameAnswers(await answersOf(restoredAt, clocks), answers);
    await service.stop();
  });

  it("should back up while the service takes events, and go on from any moment", async () => {
    expect(online.reported).to.match(/The vault key [0-9a-f]{16} is not inside/);
    await placeDatabase(third);
    const words = ["restore", "--from", pathIn(online.reported)];
    vaultKey = { VAULT_ENCRYPTION_KEY: readFileSync(join(first, "vault.key"), "utf8").trim() };
    const restored = await runCommand(third, words, vaultKey);
    expect(restored.reported).to.include("Restored.");
    const restoredAt = await start(third, vaultKey);
    await sendAll(restoredAt, events);
    await whenBooked(restoredAt);
    await expectModel(restoredAt, sent);
    await service.stop();
  });

  it("should find nothing wrong once it is stopped, and have nothing to rebuild", async () => {
    const audited = await runCommand(third, ["audit"], vaultKey);
    expect(audited.reported).to.match(/^No differences \([1-9]\d* rows compared\)/m);
    expect(audited.code).to.equal(0);
    const rebuilt = await runCommand(third, ["rebuild"], vaultKey);
    expect(rebuilt.reported).to.include("Movements are what the changes say");
    expect(rebuilt.code).to.equal(0);
    const nobody = await runCommand(third, ["audit", "--workspace", "ws_nobody"], vaultKey);
    expect(nobody.reported).to.include("There is no workspace ws_nobody.");
    expect(nobody.code).to.equal(2);
  });

  it("should rotate the vault key, also when killed, and replay into empty tables", async () => {
    const oldKey = readFileSync(join(second, "vault.key"), "utf8");
    await killedCommand(second, ["rotate-key"], "Sealing every secret under a new vault key.");
    const rotated = await runCommand(second, ["rotate-key"]);
    expect(rotated.reported).to.include("keep the old one as long as older backups");
    expect(rotated.code).to.equal(0);
    expect(readFileSync(join(second, "vault.key"), "utf8")).to.not.equal(oldKey);
    expect(existsSync(join(second, "vault.key.next"))).to.equal(false);
    // Every raw event was sealed under the old key, and the tables are made from them again.
    rmSync(join(second, "clickhouse"), { recursive: true });
    const replayed = await runCommand(second, ["replay"]);
    expect(replayed.reported).to.include("Replayed.");
    const rejected = await runCommand(second, ["replay", "--rejected"]);
    expect(rejected.reported).to.match(/^\d+ rejected events were sent through again/);
    const replayedAt = await start(second);
    await whenBooked(replayedAt);
    expectSameAnswers(await figuresRead(replayedAt, clocks), figures);
    await expectModel(replayedAt, sent);
    await service.stop();
  });

  for (const [what, spoil, said] of spoiledBackups) {
    it(`should refuse a backup that ${what}`, async () => {
      const copy = mkdtempSync(join(root, "spoiled-"));
      cpSync(backup, copy, { recursive: true });
      await checkBackup(copy);
      spoil(copy);
      const error = await rejection(checkBackup(copy));
      expect(error).to.be.instanceOf(BackupRefused);
      expect(String(error)).to.match(said);
    });
  }

  describe("where nothing can be restored", () => {
    const itTogether = together();

    itTogether("should name the newest backup where the folder of all is given", async () => {
      const { code, reported } = await runCommand(third, ["restore", "--from", dirname(backup)]);
      expect(reported).to.include(`is a folder of backups. Name one of them: --from ${backup}`);
      expect(code).to.equal(2);
    });

    itTogether("should not restore over anything", async () => {
      const before = readFileSync(join(first, "vault.key"), "utf8");
      const { code, reported } = await runCommand(first, ["restore", "--from", backup]);
      expect(reported).to.match(
        /restored into an empty installation; this one has 1 workspaces; rows in/,
      );
      expect(code).to.equal(2);
      expect(readFileSync(join(first, "vault.key"), "utf8")).to.equal(before);
    });

    const keys: [what: string, settings: Settings, said: RegExp][] = [
      ["its vault key is not there", {}, /sealed under the vault key [0-9a-f]{16}\. Set/],
      [
        "another vault key is there",
        { VAULT_ENCRYPTION_KEY: "ab".repeat(32) },
        /and this installation has/,
      ],
    ];
    for (const [what, settings, said] of keys) {
      itTogether(`should refuse a backup when ${what}, and touch nothing`, async () => {
        const target = join(root, what);
        const words = ["restore", "--from", pathIn(online.reported)];
        const { code, reported } = await runCommand(target, words, settings);
        expect(reported).to.match(said);
        expect(code).to.equal(2);
        expect(existsSync(target)).to.equal(false);
      });
    }
  });

  /** @returns the merchant at the service of this folder */
  async function start(folder: string, settings: Settings = {}): Promise<Merchant> {
    const { endpoint } = await service.start(folder, settings);
    return { ...merchant, endpoint };
  }
});

/** Of the backup a command says it made. */
function pathIn(reported: string): string {
  const [, path = ""] = /Made (\S+)/.exec(reported) ?? [];
  expect(path, reported).to.not.equal("");
  return path;
}

/**
 * What a replay brings back, without how many facts each transaction's version counts: of those
 * known by now all are counted, also what was reported before its link came.
 */
async function figuresRead(
  merchant: Merchant,
  clocks: readonly Clocks[],
): Promise<ReadonlyMap<string, unknown>> {
  const questions: readonly [string, Readonly<Record<string, string>>][] = [
    ["/v1/metrics/mrr", {}],
    ["/v1/metrics/cohorts", {}],
    ["/v1/products", { period: "lifetime", limit: "200" }],
    ["/v1/transactions", { limit: "200" }],
  ];
  const figures = new Map<string, unknown>();
  for (const clock of clocks) {
    for (const [path, more] of questions) {
      const data = at(await read(merchant, path, { ...clock, ...more }), "data");
      const rows = (given: readonly unknown[]) =>
        given.map((row) => ({ ...Object(row), version: undefined }));
      figures.set(`${path} ${JSON.stringify(clock)}`, Array.isArray(data) ? rows(data) : data);
    }
  }
  return figures;
}

/** Tables the migrations make, sorted. */
function madeIn(database: string): string[] {
  const folder = projectFile("migrations", database);
  const statements = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const made = /CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g;
  return [...statements.join("\n").matchAll(made)].map(([, name = ""]) => name).sort();
}
