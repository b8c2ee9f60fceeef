/** What a person gets wrong at first, and whether it is reported in a sentence that helps. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { DataFolderRefused, openDataFolder } from "../../stores/data-folder.js";
import { askForBackup } from "../../ops/backup-online.js";
import { type Config, ConfigError, readConfig } from "../../config.js";
import { mistypedSettings } from "../../ops/mistyped-settings.js";
import { move } from "../../ops/move.js";
import { openService } from "../../runtime/start/open.js";
import { Releases } from "../../runtime/releases.js";
import { testLogger } from "../harness/stores.js";

const program = fileURLToPath(new URL("../../main.js", import.meta.url));

describe("A newcomer", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "newcomer-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  const settings: [name: string, value: string, said: string][] = [
    ["PORT", "http", "PORT: must be a number"],
    ["PORT", "80.5", "PORT: must be a whole number"],
    ["PORT", "70000", "PORT: must not be above 65535"],
    ["RATE_LIMIT_PER_KEY", "0", "RATE_LIMIT_PER_KEY: must be above 0"],
    ["PUBLIC_URL", "example.com", "PUBLIC_URL: must be a URL as https://host:port"],
    ["CLICKHOUSE_URL", "localhost:8123", "CLICKHOUSE_URL: must be a URL as https://host:port"],
    ["CLICKHOUSE_CLUSTER", "revenue", "CLICKHOUSE_CLUSTER: needs CLICKHOUSE_URL"],
    ["CLICKHOUSE_SHARD_URLS", "http://h:1", "CLICKHOUSE_SHARD_URLS: needs CLICKHOUSE_CLUSTER"],
    ["DATABASE_URL", "mysql://u@h/d", "DATABASE_URL: must be a URL as postgres://user:"],
  ];
  for (const [name, value, said] of settings) {
    it(`should be answered with what is wrong with ${name}=${value}`, () => {
      expect(() => readConfig({ [name]: value })).to.throw(ConfigError, said);
    });
  }

  it("should be able to put each secret into a file, with a line's end", () => {
    const path = join(folder, "secret");
    writeFileSync(path, `${"ab".repeat(32)}\n`);
    for (const name of ["ADMIN_TOKEN", "VAULT_ENCRYPTION_KEY"] as const) {
      expect(readConfig({ [`${name}_FILE`]: path })[name]).to.equal("ab".repeat(32));
    }
    const both = { ADMIN_TOKEN_FILE: path, ADMIN_TOKEN: "x".repeat(32) };
    expect(() => readConfig(both)).to.throw(ConfigError, "ADMIN_TOKEN_FILE: ADMIN_TOKEN is set");
    const gone = { DATABASE_URL_FILE: join(folder, "gone") };
    expect(() => readConfig(gone)).to.throw(ConfigError, "DATABASE_URL_FILE: cannot be read");
    expect(mistypedSettings({ ADMIN_TOKEN_FLIE: "x" })[0]).to.include("mean ADMIN_TOKEN_FILE?");
  });

  const names: [env: Record<string, string>, said: string[]][] = [
    [{ KAFKA_BROKER: "k:9092" }, ["did you mean KAFKA_BROKERS?"]],
    [{ DATABSE_URL: "postgres://u@h/d" }, ["did you mean DATABASE_URL?"]],
    [{ VAULT_ENCRYPTION_KEY_PREVIUOS: "x" }, ["did you mean VAULT_ENCRYPTION_KEY_PREVIOUS?"]],
    [{ DATADIR: "/srv", log_level: "warn" }, ["mean DATA_DIR?", "mean LOG_LEVEL?"]],
    [{ PORTS: "1", POST: "2" }, []],
    [{ KAFKA_BROKERS: "k:9092", DATA_DIR: "/srv", RATES_REFRESH: "off" }, []],
    [{ KAFKA_BROKER: "", KAFKA_PARTITION: "" }, []],
    [{ CLICKHOUSE_USER: "u", STRIPE_API_KEY: "k", HOSTNAME: "h", PGDATABASE: "d" }, []],
    [{ CLICKHOUSE_URL: "http://h:8123", CLICKHOUSE_URI: "http://h:8123" }, []],
  ];
  for (const [env, said] of names) {
    it(`should be reported settings that are nearly named: ${Object.keys(env).join(", ")}`, () => {
      const reported = mistypedSettings(env);
      expect(reported).to.have.lengthOf(said.length);
      for (const [index, words] of said.entries()) expect(reported[index]).to.include(words);
    });
  }

  const folders: [title: string, path: string, why: string][] = [
    ["a file", "taken", "it is a file, not a folder"],
    ["below a file", "taken/data", "a part of it is a file, not a folder"],
  ];
  for (const [title, path, why] of folders) {
    it(`should be warned of a data folder that is ${title}`, () => {
      writeFileSync(join(folder, "taken"), "");
      expect(() => openDataFolder({ DATA_DIR: join(folder, path) })).to.throw(
        DataFolderRefused,
        new RegExp(`^DATA_DIR: .*taken.* cannot be used: ${why}\\.$`),
      );
    });
  }

  it("should read what a backup beside a running service lacks", async () => {
    const order = { to: folder, keep: null, withKey: false };
    const config = readConfig({ DATA_DIR: join(folder, "nowhere") });
    const refused = await askForBackup(config, order).catch(String);
    expect(refused).to.match(/there is no .*admin\.token\. Give this command the ADMIN_TOKEN of/);
  });

  it("should learn what the installation to move to lacks, before a backup is made", async () => {
    for (const store of ["log", "postgres"])
      mkdirSync(join(folder, "there", store), { recursive: true });
    const VAULT_ENCRYPTION_KEY = "ab".repeat(32);
    const servers = [
      "KAFKA_BROKERS=h:1",
      "CLICKHOUSE_URL=http://h:1",
      "DATABASE_URL=postgres://h/d",
    ];
    const [to, through] = [join(folder, "servers.env"), join(folder, "copies-of-there")];
    writeFileSync(to, [...servers, `VAULT_ENCRYPTION_KEY=${VAULT_ENCRYPTION_KEY}`].join("\n"));
    const config = readConfig({ DATA_DIR: join(folder, "there"), VAULT_ENCRYPTION_KEY });
    const releases = new Releases(testLogger);
    const opening = {
      open: async (target: Config) =>
        (await openService(target, { logger: testLogger, releases })).service,
      close: () => releases.release(),
      report: () => undefined,
    };
    const refused = await move(config, { to, through }, opening).catch(String);
    expect(refused).to.match(/ADMIN_TOKEN: must be set when every backend is a server/);
    expect(existsSync(through)).to.equal(false);
  });

  const words: [words: string, code: number, said: string][] = [
    ["--help", 0, "npm start -- check"],
    ["ops --help", 0, "npm run ops -- servers ["],
    ["ops dance", 2, "There is no command dance.\nnpm run ops -- audit"],
    ["check", 0, "RATES_REFRESH=on"],
    ["ops backup", 2, "--to is missing.\nnpm run ops -- audit"],
    ["ops replay --from 2026-11-01T00:00", 2, "is no time in UTC; for example 2026-11-01"],
    ["ops replay --from 2026-02-30", 2, "is no time in UTC; for example 2026-11-01"],
    ["ops audit --from x", 2, "audit takes no --from.\nnpm run ops -- audit"],
    ["ops audit --fast", 2, "npm run ops -- audit"],
    ["ops", 2, "npm run ops -- audit"],
  ];
  it("should be answered by the program which words there are", async function answered() {
    this.timeout(60_000);
    const runs = words.map(async ([line, code, said]) => {
      const { ended, answer, complaint } = await run(line, "never", { LOGLEVEL: "warn" });
      expect(ended, line).to.equal(code);
      expect(code === 0 ? answer : complaint, line).to.include(said);
      expect(complaint, line).to.match(/^LOGLEVEL is not a setting and has no effect; did you/);
    });
    await Promise.all(runs);
  });

  const nowhere: [words: string, where: string, said: RegExp][] = [
    ["audit", "never", /There is no installation in .*never \(no log, no postgres\)\. Give this/],
    ["backup --to copies", "never", /There is no installation in .*never/],
    [
      "move --to slip.env --through copies",
      "never",
      /DATABSE_URL is not a setting .* DATABASE_URL\?/,
    ],
    ["move --to none.env --through copies", "never", /--to: none\.env cannot be read: ENOENT/],
    ["replay --from 2026-11-01T00:00Z", "another", /no installation in .*another \(no log\)/],
  ];
  it("should hear from a command that finds no installation, and get none", async function none() {
    this.timeout(60_000);
    mkdirSync(join(folder, "another", "postgres"), { recursive: true });
    writeFileSync(join(folder, "slip.env"), "DATABSE_URL=postgres://user@host/database");
    const runs = nowhere.map(async ([line, where, said]) => {
      const { ended, complaint } = await run(`ops ${line}`, where);
      expect(complaint, line).to.match(said);
      expect(ended, line).to.equal(2);
    });
    await Promise.all(runs);
    expect(readdirSync(folder)).to.not.include("never").and.not.include("copies");
    expect(readdirSync(join(folder, "another"))).to.eql(["postgres"]);
  });

  async function run(line: string, where: string, more: Readonly<Record<string, string>> = {}) {
    const env = { PATH: process.env.PATH, DATA_DIR: join(folder, where), ...more };
    const args = [...process.execArgv, program, ...line.split(" ")];
    const child = spawn(process.execPath, args, { env, cwd: folder });
    const said = [text(child.stdout), text(child.stderr)];
    const [ended] = await once(child, "close");
    const [answer, complaint] = await Promise.all(said);
    return { ended, answer, complaint };
  }
});
