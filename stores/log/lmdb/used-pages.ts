/**
 * Which pages of an LMDB file are in use, read as `mdb.c` lays them out (`MDB_page`, `MDB_node`),
 * in the machine's byte order, little-endian wherever LMDB is delivered for Node.
 */

/** Number of a tree's first page. */
export type Root = bigint;

/** Of a tree without pages. */
const noRoot = 0xffff_ffff_ffff_ffffn;
const pageHeader = { bytes: 24, flagsAt: 18, lowerAt: 20 };
const branchFlag = 1;
/** Flags of a value with pages of its own, and of the root of a named store. */
const [bigFlag, storeFlag] = [1, 2];
const nodeHeader = { bytes: 8, flagsAt: 4, keyBytesAt: 6 };
/** Where a value with pages of its own has their number, and a store its root. */
const [pageCountAt, storeRootAt] = [16, 40];

/** Whether one of the trees, named stores included, uses a page from that number on. */
export function usesPagesFrom(
  first: number,
  roots: readonly Root[],
  readPage: (page: number) => Buffer,
): boolean {
  const waiting = roots.filter((root) => root !== noRoot);
  for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
    if (page >= first) return true;
    const content = readPage(Number(page));
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
