/** What of it reaches a disk no test sees; here is who waits for which pass. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { FolderSync } from "../../stores/postgres/folder-sync.js";
import { rejection } from "../harness/promises.js";
import { testFolder } from "../harness/stores.js";

describe("Syncing a folder", () => {
  const path = join(testFolder, "synced");
  const write = (name: string) => writeFileSync(join(path, name), "written");

  it("should serve all who ask at once by one pass, who comes later by the next", async () => {
    mkdirSync(path);
    write("one");
    const folder = new FolderSync(path);
    const ended: string[] = [];
    const first = folder.synced().then(() => ended.push("first"));
    const together = folder.synced();
    expect(folder.synced()).to.equal(together);
    await Promise.resolve();
    write("two");
    const next = folder.synced();
    expect(next).to.not.equal(together);
    expect(folder.synced()).to.equal(next);
    await Promise.all([first, next.then(() => ended.push("next"))]);
    expect(ended).to.deep.equal(["first", "next"]);
    expect(folder.synced()).to.not.equal(next);
  });

  it("should report a failure to all of its pass, and try again for the next", async () => {
    const folder = new FolderSync(path);
    rmSync(path, { recursive: true });
    const [one, other] = [folder.synced(), folder.synced()];
    expect(String(await rejection(one))).to.include("ENOENT");
    expect(String(await rejection(other))).to.include("ENOENT");
    mkdirSync(path);
    write("one");
    await folder.synced();
    rmSync(path, { recursive: true });
  });
});
