/**
 * LMDB ends the process without a word when its file is not LMDB's, or is shorter than what it
 * maps. Both are checked first.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { pageBytes } from "./partition.js";
import { type Root, usesPagesFrom } from "./used-pages.js";

/** `mm_magic` of `MDB_meta`, behind the page's header, in each of the first two pages. */
const magic = Buffer.from("dec0efbe", "hex");
/** Where the fields of `MDB_meta` lie in its page. */
const metaAt = { magic: 24, freeRoot: 88, mainRoot: 136, lastPage: 144, transaction: 152 };
const metaPages = [0, 1];

/** @param folder of the log; one without a file is a new log */
export function refuseDamaged(folder: string): void {
  const file = join(folder, "data.mdb");
  if (!existsSync(file) || statSync(file).size === 0) return;
  const descriptor = openSync(file, "r");
  try {
    const metas = metaPages.map((page) => readPage(descriptor, page));
    const isLmdb = (meta: Buffer): boolean => meta.indexOf(magic) === metaAt.magic;
    if (!metas.every(isLmdb)) throw new Error("data.mdb is no file of LMDB");
    refuseShort(descriptor, metas.toSorted(byTransaction)[0] ?? Buffer.alloc(pageBytes));
  } finally {
    closeSync(descriptor);
  }
}

/** Free pages at the end of the file need not be written: only used pages count. */
function refuseShort(descriptor: number, newest: Buffer): void {
  const { size } = fstatSync(descriptor);
  const written = Math.floor(size / pageBytes);
  const pages = Number(newest.readBigUInt64LE(metaAt.lastPage)) + 1;
  if (written >= pages) return;
  const roots: Root[] = [metaAt.freeRoot, metaAt.mainRoot].map((at) => newest.readBigUInt64LE(at));
  if (!usesPagesFrom(written, roots, (page) => readPage(descriptor, page))) return;
  throw new Error(`data.mdb was cut off: it has ${size} of ${pages * pageBytes} bytes`);
}

function byTransaction(one: Buffer, other: Buffer): number {
  const [first, second] = [one, other].map((meta) => meta.readBigUInt64LE(metaAt.transaction));
  return Number((second ?? 0n) - (first ?? 0n));
}

/** Filled with zeros beyond the end of the file. */
function readPage(descriptor: number, page: number): Buffer {
  const read = Buffer.alloc(pageBytes);
  readSync(descriptor, read, 0, pageBytes, page * pageBytes);
  return read;
}
