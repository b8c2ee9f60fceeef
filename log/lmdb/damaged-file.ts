/** LMDB ends the process without a word when its file is none of LMDB: that is checked first. */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { pageBytes } from "./partition.js";

/** `mm_magic` of `MDB_meta`, behind the page's header, in each of the first two pages. */
const magic = Buffer.from("dec0efbe", "hex");
const magicAt = 24;
const metaPages = [0, 1];

/** @param folder of the log; one without a file is a new log */
export function refuseDamaged(folder: string): void {
  const file = join(folder, "data.mdb");
  if (!existsSync(file) || statSync(file).size === 0) return;
  const descriptor = openSync(file, "r");
  try {
    for (const page of metaPages) {
      const found = Buffer.alloc(magic.length);
      readSync(descriptor, found, 0, found.length, page * pageBytes + magicAt);
      if (!found.equals(magic)) throw new Error("data.mdb is no file of LMDB");
    }
  } finally {
    closeSync(descriptor);
  }
}
