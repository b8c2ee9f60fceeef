/**
 * Records that name the schema they were written by, so that they outlive a change of it: Avro's
 * single-object encoding. Two bytes, C3 01; the fingerprint of the schema, 8 bytes little-endian;
 * the body. Source: Avro specification 1.12, "Single-object encoding", "Schema Fingerprints".
 */
import type avsc from "avsc";
import { type Codec, readerOf } from "./avro.js";

const marker = Buffer.of(0xc3, 0x01);
const headBytes = marker.length + 8;

/** By a schema that this version does not have: to be left where it is, for one that has it. */
class WrittenByAnotherVersion extends Error {
  override readonly name = "WrittenByAnotherVersion";
}

/**
 * Writes by the present schema; reads what it or an earlier one wrote.
 *
 * @param earlier oldest first; asked for once, when something else than the present one wrote.
 *   Records without a head are by the oldest: a body of ours never begins with C3 01.
 */
export function selfDescribing<T>(
  present: Codec<T>,
  earlier: () => readonly unknown[],
): Pick<Codec<T>, "encode" | "decode"> {
  const head = Buffer.alloc(headBytes, marker);
  head.writeBigUInt64LE(fingerprintOf(present.type), marker.length);
  let readers: Readers<T> | null = null;
  return {
    encode: (value) => Buffer.concat([head, present.encode(value)]),
    decode(bytes) {
      if (bytes.length >= headBytes && bytes.compare(head, 0, headBytes, 0, headBytes) === 0) {
        return present.decode(bytes.subarray(headBytes));
      }
      readers ??= readersOf(present, earlier());
      if (bytes.length < headBytes || bytes.compare(marker, 0, 2, 0, 2) !== 0) {
        return readers.oldest(bytes);
      }
      const writer = bytes.readBigUInt64LE(marker.length);
      const read = readers.byFingerprint.get(writer);
      if (read !== undefined) return read(bytes.subarray(headBytes));
      throw new WrittenByAnotherVersion(
        `a record is written by schema ${nameOf(writer)}, which this version does not know: ` +
          "start the version that wrote it, or a later one",
      );
    },
  };
}

interface Readers<T> {
  readonly oldest: (bytes: Buffer) => T;
  readonly byFingerprint: ReadonlyMap<bigint, (bytes: Buffer) => T>;
}

function readersOf<T>(present: Codec<T>, earlier: readonly unknown[]): Readers<T> {
  const readers = earlier.map((schema) => readerOf(schema, present));
  const [oldest] = readers;
  if (oldest === undefined) throw new Error("no schema was kept");
  const byFingerprint = new Map(readers.map(({ writer, read }) => [fingerprintOf(writer), read]));
  return { oldest: oldest.read, byFingerprint };
}

/** 16 hexadecimal digits. */
export function nameOf(fingerprint: bigint): string {
  return fingerprint.toString(16).padStart(16, "0");
}

/** CRC-64-AVRO of the parsing canonical form, which is what `schema()` of avsc answers. */
export function fingerprintOf(type: avsc.Type): bigint {
  let fingerprint = emptyFingerprint;
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    const entry = table[Number((fingerprint ^ BigInt(byte)) & 0xffn)] ?? 0n;
    fingerprint = (fingerprint >> 8n) ^ entry;
  }
  return fingerprint;
}

const emptyFingerprint = 0xc15d213aa4d7a795n;
const table = Array.from({ length: 256 }, (_, byte) => {
  let entry = BigInt(byte);
  for (let bit = 0; bit < 8; bit += 1) {
    entry = (entry >> 1n) ^ ((entry & 1n) === 1n ? emptyFingerprint : 0n);
  }
  return entry;
});
