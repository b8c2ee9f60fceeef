/**
 * Avro schemas as TypeScript constants: the wire format and the static type come from one text.
 *
 * `Avro<typeof schema>` is the TypeScript type of a record; `codec(schema)` reads and writes it.
 * `long` is `bigint` (money in minor units must not pass through a double), a `timestamp-millis`
 * is a `number` of milliseconds since 1970, an optional value is `null`, a union of records is
 * wrapped by the record's name: `{ Payment: {…} }`.
 *
 * `selfDescribing` codecs name the schema a record was written by, so that another version does not
 * misread it: Avro's single-object encoding. Two bytes, C3 01; the fingerprint of the schema, 8
 * bytes little-endian; the body. Source: Avro specification 1.12, "Single-object encoding", "Schema
 * Fingerprints".
 */
import avsc from "avsc";
import assert from "node:assert";

interface AvroField {
  readonly name: string;
  readonly type: unknown;
}

/** The TypeScript type of a value of the Avro schema `S`. */
export type Avro<S> = S extends "string"
  ? string
  : S extends "long"
    ? bigint
    : S extends "int"
      ? number
      : S extends "boolean"
        ? boolean
        : S extends "bytes"
          ? Buffer
          : S extends "null"
            ? null
            : S extends { readonly logicalType: "timestamp-millis" }
              ? number
              : S extends { readonly type: "enum"; readonly symbols: readonly (infer E)[] }
                ? Exclude<E, UnknownSymbol<S>>
                : S extends { readonly type: "array"; readonly items: infer I }
                  ? Avro<I>[]
                  : S extends { readonly type: "record"; readonly fields: infer F }
                    ? F extends readonly AvroField[]
                      ? AvroRecord<F[number]>
                      : never
                    : S extends readonly ["null", infer T]
                      ? Avro<T> | null
                      : S extends readonly (infer R)[]
                        ? R extends { readonly type: "record"; readonly name: infer N }
                          ? { [K in N & string]: Avro<R> }
                          : never
                        : never;

/** What a reader makes of a symbol it does not know yet: nobody writes it. */
type UnknownSymbol<S> = S extends { readonly default: infer D } ? D : never;

/** A field with a default may be left out when writing, and is there after reading. */
type AvroRecord<F extends AvroField> = {
  [K in Exclude<F, { readonly default: unknown }> as K["name"]]: Avro<K["type"]>;
} & {
  [K in Extract<F, { readonly default: unknown }> as K["name"]]?: Avro<K["type"]>;
};

export function record<const N extends string, const F extends readonly AvroField[]>(
  name: N,
  fields: F,
) {
  return { type: "record", name, fields } as const;
}

export function field<const N extends string, const T>(name: N, type: T, doc?: string) {
  return { name, type, ...(doc !== undefined && { doc }) } as const;
}

/** May be left out when writing. */
export function defaulted<const N extends string, const T>(name: N, type: T, value: unknown) {
  return { name, type, default: value } as const;
}

/** The schema as it was before one of its records, wherever it stands, had a field. */
export function withoutField(schema: unknown, recordName: string, fieldName: string): unknown {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || !("fields" in value)) return value;
    const { name, fields } = value as { name?: unknown; fields?: unknown };
    if (name !== recordName || !Array.isArray(fields)) return value;
    const left = fields.filter((one: AvroField) => one.name !== fieldName);
    return { ...value, fields: left };
  });
}

/** The schema as it was before a union had this record. */
export function withoutRecord(schema: unknown, recordName: string): unknown {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (!Array.isArray(value)) return value;
    return value.filter((one: { readonly name?: unknown } | null) => one?.name !== recordName);
  });
}

export function enumOf<const N extends string, const E extends string>(
  name: N,
  symbols: readonly E[],
) {
  return { type: "enum", name, symbols } as const;
}

/** May grow: readers take a symbol they do not know yet for `unknown`, which nobody writes. */
export function openEnumOf<const N extends string, const E extends string>(
  name: N,
  symbols: readonly E[],
) {
  return { ...enumOf(name, symbols), default: "unknown" } as const;
}

export function listOf<const I>(items: I) {
  return { type: "array", items } as const;
}

/** Reads and writes values of one schema, as bytes and as JSON text (for rows a person reads). */
export interface Codec<T> {
  readonly type: avsc.Type;
  encode(value: T): Buffer;
  /** @throws when the bytes are not a whole record of this schema. */
  decode(bytes: Buffer): T;
  toText(value: T): string;
  fromText(text: string): T;
}

export type Reader<T> = Pick<Codec<T>, "type" | "decode">;

export function codec<const S>(schema: S): Codec<Avro<S>> {
  const type = typeOf(schema);
  // oxlint-disable typescript/no-unsafe-type-assertion
  return {
    type,
    encode: (value) => encoded(type, value),
    decode: (bytes) => type.fromBuffer(bytes) as Avro<S>,
    toText: (value) => type.toString(value),
    fromText: (text) => type.fromString(text) as Avro<S>,
  };
  // oxlint-enable typescript/no-unsafe-type-assertion
}

/** Most records fit. */
const scratch = Buffer.allocUnsafe(64 * 1024);

/** From the pool of small buffers: avsc would give each record memory of its own. */
function encoded(type: avsc.Type, value: unknown): Buffer {
  const end = type.encode(value, scratch);
  if (end < 0) return type.toBuffer(value);
  return Buffer.from(scratch.subarray(0, end));
}

/** What another schema wrote, read as this one. @throws at once when it cannot be */
export function readerOf<T>({ type }: Codec<T>, writer: unknown): Reader<T> {
  const written = typeOf(writer);
  const resolver = type.createResolver(written);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { type: written, decode: (bytes) => type.fromBuffer(bytes, resolver) as T };
}

/** Reads some fields of a record and skips the others, which takes a fraction of the time. */
export function fieldsReader<T extends object, const K extends keyof T & string>(
  { type }: Reader<T>,
  ...names: readonly K[]
): (bytes: Buffer) => Pick<T, K> {
  assert(type instanceof avsc.types.RecordType);
  const fields = type.fields.filter(({ name }) => names.some((wanted) => wanted === name));
  const schema = fields.map(({ name, type: of }) => ({
    name,
    type: of.schema({ exportAttrs: true }),
  }));
  const reader = typeOf({ type: "record", name: type.name, fields: schema });
  const resolver = reader.createResolver(type);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (bytes) => reader.fromBuffer(bytes, resolver) as Pick<T, K>;
}

/**
 * Bytes written by one schema as another one writes them, by Avro's rules of schema resolution.
 * @throws at once when the reader cannot read what the writer writes
 */
export function translator(writer: unknown, reader: unknown): (bytes: Buffer) => Buffer {
  const present = typeOf(reader);
  const resolver = present.createResolver(typeOf(writer));
  return (bytes) => present.toBuffer(present.fromBuffer(bytes, resolver));
}

function typeOf(schema: unknown): avsc.Type {
  // avsc's types know neither our constants nor what they stand for: said once, here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return avsc.Type.forSchema(nameOnce(schema) as avsc.Schema, {
    registry: { long: bigintLong },
    logicalTypes: { "timestamp-millis": TimestampMillis },
    wrapUnions: "auto",
  });
}

/** Avro wants a named type written once and referred to by name; the constants repeat it. */
export function nameOnce(schema: unknown, seen = new Set<string>()): unknown {
  if (Array.isArray(schema)) return schema.map((part) => nameOnce(part, seen));
  if (typeof schema !== "object" || schema === null) return schema;
  const { type, name } = schema as { type?: unknown; name?: unknown };
  if ((type === "record" || type === "enum") && typeof name === "string") {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === "default" || key === "symbols" ? value : nameOnce(value, seen),
    ]),
  );
}

const bigintLong = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: (value: string | number) => BigInt(value),
  toJSON: (value: bigint) => value.toString(),
  isValid: (value: unknown) => typeof value === "bigint" && BigInt.asIntN(64, value) === value,
  compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
});

/** avsc reads the `long` under a logical type as a number, which holds any date there is. */
class TimestampMillis extends avsc.types.LogicalType {
  protected override _fromValue(value: unknown): unknown {
    return value;
  }
  protected override _toValue(value: unknown): unknown {
    return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
  }
  /** Read from its like only: a bare `long`, or one of microseconds, is another time. */
  protected override _resolve(writer: avsc.Type): ((value: unknown) => unknown) | undefined {
    return writer instanceof TimestampMillis ? (value) => value : undefined;
  }
}

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
  current: Pick<Codec<Written>, "type" | "encode"> & Pick<Codec<Read>, "decode">,
  earlier: () => readonly Reader<Read>[] = () => [],
): Pick<Codec<Written>, "encode"> & Pick<Codec<Read>, "decode"> {
  const head = headOf(current.type);
  let older: readonly { readonly head: Buffer; decode(bytes: Buffer): Read }[] | undefined;
  return {
    encode: (value) => Buffer.concat([head, current.encode(value)]),
    decode(bytes) {
      const [given, body] = [bytes.subarray(0, headBytes), bytes.subarray(headBytes)];
      if (given.equals(head)) return current.decode(body);
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
