/**
 * Records that name the schema they were written by, so that another version does not misread them:
 * Avro's single-object encoding. Two bytes, C3 01; the fingerprint of the schema, 8 bytes
 * little-endian; the body. Source: Avro specification 1.12, "Single-object encoding", "Schema
 * Fingerprints".
 */
import type avsc from "avsc";
import type { Codec, Reader } from "./avro.js";

const marker = Buffer.of(0xc3, 0x01);
const headBytes = marker.length + 8;

/** By another schema: to be left where it is, for the version that knows it. */
class WrittenByAnotherVersion extends Error {
  override readonly name = "WrittenByAnotherVersion";
}

/**
 * @typeParam Read of what is written, all or some fields
 * @param earlier of schemas that versions before wrote by; called when one of their records comes
 */
export function selfDescribing<Written, Read>(
  codec: Pick<Codec<Written>, "type" | "encode"> & Pick<Codec<Read>, "decode">,
  earlier: () => readonly Reader<Read>[] = () => [],
): Pick<Codec<Written>, "encode"> & Pick<Codec<Read>, "decode"> {
  const head = headOf(codec.type);
  let older: readonly { readonly head: Buffer; decode(bytes: Buffer): Read }[] | undefined;
  return {
    encode: (value) => Buffer.concat([head, codec.encode(value)]),
    decode(bytes) {
      const [given, body] = [bytes.subarray(0, headBytes), bytes.subarray(headBytes)];
      if (given.equals(head)) return codec.decode(body);
      older ??= earlier().map(({ type, decode }) => ({ head: headOf(type), decode }));
      const reader = older.find((one) => given.equals(one.head));
      if (reader !== undefined) return reader.decode(body);
      const isMarked = bytes.length >= headBytes && bytes.compare(marker, 0, 2, 0, 2) === 0;
      const writer = isMarked
        ? `schema ${nameOf(bytes.readBigUInt64LE(marker.length))}`
        : "no schema";
      throw new WrittenByAnotherVersion(
        `a record is written by ${writer}, which this version does not know: ` +
          "start the version that wrote it, or a later one",
      );
    },
  };
}

function headOf(type: avsc.Type): Buffer {
  const head = Buffer.alloc(headBytes, marker);
  head.writeBigUInt64LE(fingerprintOf(type), marker.length);
  return head;
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
