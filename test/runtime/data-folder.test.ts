import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { DataFolderRefused, openDataFolder } from "../../stores/data-folder.js";
import { FolderLocked, lockFolder } from "../../stores/folder-lock.js";

describe("The data folder", () => {
  let parent: string;
  let DATA_DIR: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "folder-"));
    DATA_DIR = join(parent, "data");
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  it("should be made with its secrets, for its owner only, and go on with them", () => {
    const first = openDataFolder({ DATA_DIR });
    expect(first.made).to.eql(["vault.key", "admin.token"].map((name) => join(DATA_DIR, name)));
    expect(first.vaultKey).to.match(/^[0-9a-f]{64}$/);
    expect(first.adminToken).to.match(/^[0-9A-Za-z]{43}$/);
    expect(modeOf(DATA_DIR)).to.equal(0o700);
    for (const file of first.made) expect(modeOf(file)).to.equal(0o600);
    first.unlock();
    const { unlock, ...second } = openDataFolder({ DATA_DIR });
    unlock();
    expect(second).to.eql({
      path: DATA_DIR,
      vaultKey: first.vaultKey,
      adminToken: first.adminToken,
      nextVaultKey: null,
      made: [],
      isClosed: false,
    });
  });

  it("should be closed to others who could read it", () => {
    mkdirSync(DATA_DIR);
    chmodSync(DATA_DIR, 0o755);
    const { isClosed, unlock } = openDataFolder({ DATA_DIR });
    unlock();
    expect(isClosed).to.equal(true);
    expect(modeOf(DATA_DIR)).to.equal(0o700);
  });

  it("should be refused where no folder can be made", () => {
    const open = () => openDataFolder({ DATA_DIR: "/proc/revenue/data" });
    expect(open).to.throw(DataFolderRefused, /no folder can be made there/);
  });

  it("should take secrets from the settings and then make none", () => {
    const given = { VAULT_ENCRYPTION_KEY: "ab".repeat(32), ADMIN_TOKEN: "t".repeat(40) };
    const { vaultKey, adminToken, made, unlock } = openDataFolder({ DATA_DIR, ...given });
    unlock();
    expect([vaultKey, adminToken, made]).to.eql([
      given.VAULT_ENCRYPTION_KEY,
      given.ADMIN_TOKEN,
      [],
    ]);
  });

  const spoiled: [what: string, spoil: (file: string) => void, message: RegExp][] = [
    ["is open to others", (file) => chmodSync(file, 0o640), /chmod 600 .*vault\.key/],
    ["is cut short", (file) => writeFileSync(file, "abc"), /does not hold what it should/],
    ["is empty", (file) => writeFileSync(file, ""), /does not hold what it should/],
  ];
  for (const [what, spoil, message] of spoiled) {
    it(`should be refused when its vault key ${what}, and left as it is`, () => {
      openDataFolder({ DATA_DIR }).unlock();
      const file = join(DATA_DIR, "vault.key");
      spoil(file);
      const before = readFileSync(file, "utf8");
      expect(() => openDataFolder({ DATA_DIR })).to.throw(DataFolderRefused, message);
      expect(readFileSync(file, "utf8")).to.equal(before);
      lockFolder(DATA_DIR)();
    });
  }

  function makeDatabase(): void {
    mkdirSync(join(DATA_DIR, "postgres"), { recursive: true });
    writeFileSync(join(DATA_DIR, "postgres", "PG_VERSION"), "17");
  }

  for (const store of ["log", "clickhouse"]) {
    it(`should be refused when its vault key is gone and ${store} is there, and get none`, () => {
      openDataFolder({ DATA_DIR }).unlock();
      mkdirSync(join(DATA_DIR, store));
      makeDatabase();
      rmSync(join(DATA_DIR, "vault.key"));
      expect(() => openDataFolder({ DATA_DIR })).to.throw(
        DataFolderRefused,
        /vault\.key is missing, and what lies in .* is sealed under it\. Put the file back/,
      );
      expect(existsSync(join(DATA_DIR, "vault.key"))).to.equal(false);
      openDataFolder({ DATA_DIR, VAULT_ENCRYPTION_KEY: "ab".repeat(32) }).unlock();
    });

    it(`should be refused with ${store} and no database, unless that is on a server`, () => {
      openDataFolder({ DATA_DIR }).unlock();
      mkdirSync(join(DATA_DIR, store));
      expect(() => openDataFolder({ DATA_DIR })).to.throw(
        DataFolderRefused,
        `has ${store}/ but no complete postgres/ with its workspaces. If they are on a server`,
      );
      openDataFolder({ DATA_DIR, DATABASE_URL: "postgres://user@host/database" }).unlock();
      mkdirSync(join(DATA_DIR, "postgres"));
      expect(() => openDataFolder({ DATA_DIR })).to.throw(
        DataFolderRefused,
        "no complete postgres/",
      );
      makeDatabase();
      openDataFolder({ DATA_DIR }).unlock();
    });
  }

  it("should serve one process at a time", () => {
    const unlock = lockFolder(parent);
    expect(() => lockFolder(parent)).to.throw(FolderLocked, `in use by process ${process.pid}`);
    unlock();
    lockFolder(parent)();
  });

  it("should be refused while another process holds it, and taken over after that", async () => {
    const lock = new URL("../../stores/folder-lock.js", import.meta.url).href;
    const code = `import { lockFolder } from ${JSON.stringify(lock)};
      lockFolder(${JSON.stringify(parent)}); console.log("held"); setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ["--input-type=module", "-e", code]);
    await once(holder.stdout, "data");
    expect(() => lockFolder(parent)).to.throw(FolderLocked, `in use by process ${holder.pid}`);
    // Whatever the file says: to another container this process id is its own.
    writeFileSync(join(parent, "lock"), JSON.stringify({ pid: process.pid, host: "other" }));
    expect(() => lockFolder(parent)).to.throw(FolderLocked, `process ${process.pid} on other`);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    lockFolder(parent)();
  });

  const stale: [what: string, content: string][] = [
    ["a process that lives", JSON.stringify({ pid: process.pid, host: hostname() })],
    ["what a power cut left", '{"pid":'],
    ["no process", "{}"],
  ];
  for (const [what, content] of stale) {
    it(`should take what nobody holds, though its file reports ${what}`, () => {
      writeFileSync(join(parent, "lock"), content);
      lockFolder(parent)();
    });
  }
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
