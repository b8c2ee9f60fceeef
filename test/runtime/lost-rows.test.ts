/**
 * A store that was lost or damaged while the service was off: the next start refuses with a
 * sentence and exit code 1, and the command it names brings the same figures back.
 */
import { once } from "node:events";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { onServers } from "../harness/backends.js";
import { placeDatabase } from "../harness/empty-database.js";
import { type Merchant, openMerchant, whenBooked } from "../model/merchant.js";
import {
  freePort,
  runCommand,
  startService,
  SuiteService,
  whenJournaled,
} from "../harness/service-process.js";
import { needTime } from "../harness/real-servers.js";
import { prepareProcess } from "../harness/stores.js";
import { sell, soldAmounts } from "../harness/till.js";

const sold = [1, 2, 3, 4, 5];
type Damage = (folder: string) => void;

/** The larger files of each part's rows, cut. */
const breakParts: Damage = (folder) => {
  const inTables = join(folder, "clickhouse", "store");
  const files = readdirSync(inTables, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((one) => /\/all_[^/]*\/(data|offset)\.bin$/.test(one))) {
    truncateSync(join(inTables, file), 1);
  }
};

const cutLog: Damage = (folder) => {
  const file = join(folder, "log", "data.mdb");
  truncateSync(file, Math.floor(statSync(file).size / 2));
};

const remove =
  (path: string): Damage =>
  (folder) =>
    rmSync(join(folder, path), { recursive: true });

const damages: readonly [what: string, damage: Damage, said: RegExp][] = [
  ["its tables gone", remove("clickhouse"), /clickhouse lost rows: of 5 .* -- rebuild/],
  ["broken parts", breakParts, /clickhouse has broken parts.* -- rebuild/],
  ["its log gone", remove("log"), /log lost events: .* -- restore/],
  ["PG_VERSION gone", remove("postgres/PG_VERSION"), /no complete postgres.*restore/],
  [
    "its log and its tables gone",
    (folder) => ["log", "clickhouse"].forEach((one) => remove(one)(folder)),
    /log is empty, and .* says that events were taken.* -- restore/,
  ],
  [
    "a log that is no log",
    (folder) => writeFileSync(join(folder, "log", "data.mdb"), "x".repeat(100_000)),
    /log cannot be opened .* -- restore/,
  ],
  ["a log that was cut off", cutLog, /log cannot be opened \(data\.mdb was cut off: .* -- restore/],
];

describe("An installation that lost rows", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  const root = mkdtempSync(join(tmpdir(), "revenue-lost-"));
  const whole = join(root, "whole");
  const backups = join(root, "backups");
  let merchant: Merchant;

  before(async function prepare() {
    if (onServers) this.skip();
    needTime(this);
    await prepareProcess(whole);
    const { port, endpoint } = await service.start(whole);
    merchant = await openMerchant(endpoint, "EUR");
    for (const amount of sold) expect((await sell(merchant, amount)).status).to.equal(202);
    await whenBooked(merchant);
    await whenJournaled(port);
    await service.stop();
    const made = await runCommand(whole, ["backup", "--to", backups]);
    expect(made.code, made.reported).to.equal(0);
  });
  afterEach(() => service.kill());
  after(() => rmSync(root, { recursive: true, maxRetries: 5 }));

  for (const [what, damage, said] of damages) {
    it(`should be refused with ${what}, and name the command that helps`, async () => {
      const [command, refused] = await Promise.all([
        runCommand(damaged(damage), ["audit"]),
        refusal(damaged(damage)),
      ]);
      expect(command.code, command.reported).to.equal(2);
      expect(refused.said).to.match(said);
      expect(refused.said).to.not.contain("    at ");
      expect(refused.code).to.equal(1);
    });
  }

  const remedies = [
    ["replay", breakParts, replayAway],
    ["rebuild", remove("clickhouse"), rebuild],
    ["restore", remove("log"), restore],
  ] as const;
  for (const [command, damage, mend] of remedies) {
    it(`should be whole again after a ${command}`, async () => {
      await service.start(await mend(damaged(damage)));
      await whenBooked(merchant);
      expect(await soldAmounts(merchant)).to.eql(sold);
    });
  }

  /** @returns a copy of the whole one, damaged */
  function damaged(damage: Damage): string {
    const folder = mkdtempSync(join(root, "damaged-"));
    cpSync(whole, folder, { recursive: true });
    damage(folder);
    return folder;
  }

  async function refusal(folder: string): Promise<{ said: string; code: number | null }> {
    const child = startService(folder, await freePort(), {}, "pipe");
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await once(child, "close");
    return { said, code: child.exitCode };
  }

  async function replayAway(folder: string): Promise<string> {
    renameSync(join(folder, "clickhouse"), join(root, "away"));
    return replay(folder);
  }

  async function replay(folder: string): Promise<string> {
    const replayed = await runCommand(folder, ["replay"]);
    expect(replayed.code, replayed.reported).to.equal(0);
    return folder;
  }

  async function rebuild(folder: string): Promise<string> {
    const rebuilt = await runCommand(folder, ["rebuild"]);
    expect(rebuilt.code, rebuilt.reported).to.equal(0);
    expect(rebuilt.reported).to.match(/The state holds (\d+) facts and changes; \1 were missing/);
    return replay(folder);
  }

  async function restore(old: string): Promise<string> {
    const folder = mkdtempSync(join(root, "restored-"));
    await placeDatabase(folder);
    cpSync(join(old, "vault.key"), join(folder, "vault.key"));
    cpSync(join(old, "admin.token"), join(folder, "admin.token"));
    const from = join(backups, readdirSync(backups).sort().at(-1) ?? "");
    const restored = await runCommand(folder, ["restore", "--from", from]);
    expect(restored.code, restored.reported).to.equal(0);
    return folder;
  }
});
