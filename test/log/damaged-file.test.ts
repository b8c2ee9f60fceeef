/** A file of the embedded log that was cut off: refused, unless all that is used is still there. */
import { cpSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { open } from "lmdb";
import { refuseDamaged } from "../../stores/log/lmdb/damaged-file.js";
import { pageBytes } from "../../stores/log/lmdb/partition.js";

/** Values of some are larger than a page. */
const values = Array.from({ length: 40 }, (_, index) => Buffer.alloc(index * 200, index));
const removedFrom = 30;

describe("a file of the log that was cut off", () => {
  const root = mkdtempSync(join(tmpdir(), "revenue-cut-"));
  const whole = join(root, "whole");
  let pages: number;

  before(async () => {
    const { close, store } = openStore(whole);
    for (const [index, value] of values.entries()) await store.put(index, value);
    // The last pages are free then, and the file may end before them.
    for (let index = removedFrom; index < values.length; index += 1) await store.remove(index);
    await close();
    pages = statSync(join(whole, "data.mdb")).size / pageBytes;
  });
  after(() => rmSync(root, { recursive: true }));

  it("should be refused wherever it is cut, or hold all that was written", async () => {
    let refused = 0;
    for (let kept = pages; kept > 1; kept -= 1) {
      const folder = join(root, String(kept));
      cpSync(whole, folder, { recursive: true });
      truncateSync(join(folder, "data.mdb"), kept * pageBytes);
      try {
        refuseDamaged(folder);
      } catch (error) {
        expect(error)
          .to.be.an("error")
          .with.property("message")
          .match(/cut off: it has \d+ of/);
        refused += 1;
        continue;
      }
      const { close, store } = openStore(folder);
      const read = [...store.getRange()].map(({ value }) => value);
      expect(read).to.eql(values.slice(0, removedFrom));
      await close();
    }
    expect(refused).to.be.within(1, pages - 2);
  });
});

function openStore(path: string) {
  const root = open({ path, maxDbs: 2, pageSize: pageBytes, eventTurnBatching: false });
  const store = root.openDB<Buffer, number>({ name: "records", encoding: "binary" });
  return { store, close: () => root.close() };
}
