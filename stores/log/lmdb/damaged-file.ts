/**
 * LMDB ends the process without a word when its file is not LMDB's, or is shorter than what it
 * maps. Both are checked first.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { pageBytes } from "./partition.js";

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

/** Number of a tree's first page. */
type Root = bigint;

/** Of a tree without pages. */
const noRoot = 0xffff_ffff_ffff_ffffn;
const pageHeader = { bytes: 24, flagsAt: 18, lowerAt: 20 };
const branchFlag = 1;
/** Flags of a value with pages of its own, and of the root of a named store. */
const [bigFlag, storeFlag] = [1, 2];
const nodeHeader = { bytes: 8, flagsAt: 4, keyBytesAt: 6 };
/** Where a value with pages of its own has their number, and a store its root. */
const [pageCountAt, storeRootAt] = [16, 40];

/**
 * Whether one of the trees, named stores included, uses a page from that number on. Pages are read
 * as `mdb.c` lays them out (`MDB_page`, `MDB_node`), in the machine's byte order, little-endian
 * wherever LMDB is delivered for Node.
 */
function usesPagesFrom(
  first: number,
  roots: readonly Root[],
  contentOf: (page: number) => Buffer,
): boolean {
  const waiting = roots.filter((root) => root !== noRoot);
  for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
    if (page >= first) return true;
    const content = contentOf(Number(page));
    const isBranch = (content.readUInt16LE(pageHeader.flagsAt) & branchFlag) !== 0;
    for (const node of nodesOf(content)) {
      if (isBranch) {
        waiting.push(BigInt(node.readUIntLE(0, nodeHeader.keyBytesAt)));
        continue;
      }
      const flags = node.readUInt16LE(nodeHeader.flagsAt);
      const value = node.subarray(nodeHeader.bytes + node.readUInt16LE(nodeHeader.keyBytesAt));
      if ((flags & bigFlag) !== 0) {
        if (value.readBigUInt64LE(0) + value.readBigUInt64LE(pageCountAt) > first) return true;
      } else if ((flags & storeFlag) !== 0) {
        const root = value.readBigUInt64LE(storeRootAt);
        if (root !== noRoot) waiting.push(root);
      }
    }
  }
  return false;
}

function nodesOf(page: Buffer): Buffer[] {
  const body = page.subarray(pageHeader.bytes);
  const count = page.readUInt16LE(pageHeader.lowerAt) / 2;
  return Array.from({ length: count }, (_, index) => body.subarray(body.readUInt16LE(index * 2)));
}
