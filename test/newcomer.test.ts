/** What a person gets wrong at first, and whether it is told in a sentence that helps. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { DataFolderRefused, openDataFolder } from "../backends/data-folder.js";
import { ConfigError, readConfig } from "../config.js";

const program = fileURLToPath(new URL("../main.js", import.meta.url));

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
    it(`should be told what is wrong with ${name}=${value}`, () => {
      expect(() => readConfig({ [name]: value })).to.throw(ConfigError, said);
    });
  }

  const folders: [title: string, path: string, why: string][] = [
    ["a file", "taken", "it is a file, not a folder"],
    ["below a file", "taken/data", "a part of it is a file, not a folder"],
  ];
  for (const [title, path, why] of folders) {
    it(`should be told of a data folder that is ${title}`, () => {
      writeFileSync(join(folder, "taken"), "");
      expect(() => openDataFolder({ DATA_DIR: join(folder, path) })).to.throw(
        DataFolderRefused,
        new RegExp(`^DATA_DIR: .*taken.* cannot be used: ${why}\\.$`),
      );
    });
  }

  const words: [words: string, code: number, said: string][] = [
    ["--help", 0, "npm start -- check"],
    ["ops --help", 0, "npm run ops -- servers start"],
    ["ops dance", 2, "There is no command dance.\nnpm run ops -- audit"],
    ["ops backup", 2, "--to is missing.\nnpm run ops -- audit"],
    ["ops replay --from 2026-11-01T00:00", 2, "is no time in UTC; for example 2026-11-01"],
    ["ops replay --from 2026-02-30", 2, "is no time in UTC; for example 2026-11-01"],
    ["ops audit --from x", 2, "audit takes no --from.\nnpm run ops -- audit"],
  ];
  it("should be answered by the program which words there are", async function answered() {
    this.timeout(60_000);
    const env = { PATH: process.env.PATH, DATA_DIR: join(folder, "never") };
    const runs = words.map(async ([line, code, said]) => {
      const child = spawn(process.execPath, [program, ...line.split(" ")], { env });
      const answers = text(code === 0 ? child.stdout : child.stderr);
      const [ended] = await once(child, "close");
      expect(ended, line).to.equal(code);
      expect(await answers, line).to.include(said);
    });
    await Promise.all(runs);
  });

  const nowhere: [words: string, where: string, said: RegExp][] = [
    ["audit", "never", /There is no installation in .*never \(no log, no postgres\)\. Give this/],
    ["backup --to copies", "never", /There is no installation in .*never/],
    ["replay --from 2026-11-01T00:00Z", "another", /no installation in .*another \(no log\)/],
  ];
  it("should be told by a command that finds no installation, and get none", async function none() {
    this.timeout(60_000);
    mkdirSync(join(folder, "another", "postgres"), { recursive: true });
    const runs = nowhere.map(async ([line, where, said]) => {
      const env = { PATH: process.env.PATH, DATA_DIR: join(folder, where) };
      const args = [program, "ops", ...line.split(" ")];
      const child = spawn(process.execPath, args, { env, cwd: folder });
      const answer = text(child.stderr);
      const [ended] = await once(child, "close");
      expect(await answer, line).to.match(said);
      expect(ended, line).to.equal(2);
    });
    await Promise.all(runs);
    expect(readdirSync(folder)).to.not.include("never").and.not.include("copies");
    expect(readdirSync(join(folder, "another"))).to.eql(["postgres"]);
  });
});
