/** Whose backups a folder holds: one installation's, or it is refused. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect } from "chai";
import { accountHasher, installationId } from "../../stores/vault/account-hash.js";
import { addBackup, refuseAmongOthers, refuseInside } from "../../stores/backup/folder.js";
import { BackupRefused, type Manifest, manifestText } from "../../stores/backup/manifest.js";
import { openVault } from "../../stores/vault/vault.js";
import { rejection } from "../harness/promises.js";
import { byTopic } from "../log/log-topics.js";

describe("A folder of backups", () => {
  const root = mkdtempSync(join(tmpdir(), "backup-folder-"));
  after(() => rmSync(root, { recursive: true }));

  it("should be refused when it holds those of another installation", async () => {
    const before = await add(1, "first");
    await add(2, "first");
    expect(existsSync(before), "one of its own").to.equal(false);
    const refused = await rejection(add(3, "second"));
    expect(refused).to.be.instanceOf(BackupRefused);
    expect(String(refused)).to.include("of another installation (first, this one is second)");
    expect(readdirSync(root)).to.deep.equal(["1970-01-01T00-00-00.002Z"]);
    expect(basename(await add(4, "first"))).to.equal("1970-01-01T00-00-00.004Z");
  });

  it("should be reported whose it is by what every installation draws for itself", async () => {
    const [one, other] = [storeOf(), storeOf()];
    const vault = openVault("ab".repeat(32));
    const id = await installationId(one, vault);
    expect(id).to.match(/^[0-9a-f]{16}$/);
    await accountHasher(one, vault);
    expect(await installationId(one, vault)).to.equal(id);
    expect(await installationId(other, vault)).not.to.equal(id);
  });

  it("should be refused anywhere in the data folder, through symbolic links too", () => {
    const data = join(root, "data");
    mkdirSync(join(data, "log"), { recursive: true });
    symlinkSync(data, join(root, "link"));
    symlinkSync(join(data, "log"), join(root, "deep"));
    const inside = ["data", "data/backups", "data/log/a/b", "link/backups", "deep", "data/../link"];
    for (const to of inside) {
      expect(() => refuseInside(join(root, to), data), to).to.throw(BackupRefused, /data folder/);
      expect(() => refuseInside(join(root, to), join(root, "link")), to).to.throw(BackupRefused);
    }
    for (const to of ["backups", "data2", "."]) refuseInside(join(root, to), data);
  });

  function add(at: number, installation: string): Promise<string> {
    return addBackup(root, new Date(at), 1, async (folder) => {
      await refuseAmongOthers(root, installation);
      writeFileSync(join(folder, "manifest.json"), manifestText(manifestOf(installation)));
    });
  }

  function manifestOf(installation: string): Manifest {
    return {
      made_at: new Date(0).toISOString(),
      version: "1",
      installation,
      vault_key_id: "",
      migrations: { postgres: [], clickhouse: [] },
      topics: byTopic({ partitions: [], groups: {} }),
      files: [],
    };
  }

  /** The secrets of one installation, and nothing else of Postgres. */
  function storeOf() {
    let sealed: unknown;
    const query = async <T>(sql: string, values: readonly unknown[] = []): Promise<T[]> => {
      if (sql.startsWith("INSERT")) sealed ??= values[1];
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only rows asked for
      return (sql.startsWith("SELECT") ? [{ sealed }] : []) as T[];
    };
    return { query, transaction: () => Promise.reject(new Error("none")), close: async () => {} };
  }
});
