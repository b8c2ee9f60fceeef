/** A store's report as it is downloaded, gzip, zip or plain, in UTF-8 or UTF-16: its text. */
import { promisify } from "node:util";
import { crc32, gunzip, inflateRaw } from "node:zlib";

/** It is no such file; the message is for a person. */
export class ReportRefused extends Error {
  override readonly name = "ReportRefused";
}

/** It is one, and says nothing of the app: others of the account sold something. */
export class NothingReported extends ReportRefused {}

/** Unpacked. It is read in one go, and others wait meanwhile. */
const reportBytesMax = 32 * 1024 * 1024;

/** @throws ReportRefused */
export async function reportText(bytes: Buffer): Promise<string> {
  try {
    return decoded(await unpacked(bytes));
  } catch (error) {
    if (error instanceof ReportRefused || !(error instanceof Error)) throw error;
    const code = "code" in error ? String(error.code) : error.name;
    const why =
      code === "ERR_BUFFER_TOO_LARGE"
        ? `it has more than ${reportBytesMax / 1024 / 1024} MiB`
        : error.message;
    throw new ReportRefused(`The file cannot be read: ${why}`, { cause: error });
  }
}

async function unpacked(bytes: Buffer): Promise<Buffer> {
  const limit = { maxOutputLength: reportBytesMax };
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return promisify(gunzip)(bytes, limit);
  if (bytes.subarray(0, 2).toString("latin1") !== "PK") return bytes;
  const { isPacked, data, checksum } = onlyEntry(bytes);
  const whole = isPacked ? await promisify(inflateRaw)(data, limit) : data;
  if (crc32(whole) !== checksum) throw new ReportRefused("The zip file is damaged.");
  return whole;
}

/** Fixed parts of a zip file (PKWARE's APPNOTE 4.3), little-endian. */
const endSignature = 0x06_05_4b_50;
const endBytes = 22;
const commentBytesMax = 65_535;
const entrySignature = 0x02_01_4b_50;
const entryBytes = 46;
const localBytes = 30;
const methods = { stored: 0, deflated: 8 };

interface Entry {
  readonly isPacked: boolean;
  readonly data: Buffer;
  readonly checksum: number;
}

/** @throws ReportRefused */
function onlyEntry(zip: Buffer): Entry {
  const end = endOf(zip);
  const found: Entry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (zip.readUInt32LE(at) !== entrySignature)
      throw new ReportRefused("The zip file is damaged.");
    const method = zip.readUInt16LE(at + 10);
    const checksum = zip.readUInt32LE(at + 16);
    const length = zip.readUInt32LE(at + 20);
    const nameBytes = zip.readUInt16LE(at + 28);
    const name = zip.toString("utf8", at + entryBytes, at + entryBytes + nameBytes);
    const local = zip.readUInt32LE(at + 42);
    at += entryBytes + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
    if (!/\.(csv|txt)$/i.test(name)) continue;
    if (method !== methods.stored && method !== methods.deflated) {
      throw new ReportRefused("The zip file is packed in a way that is not read here.");
    }
    const from = local + localBytes + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const data = zip.subarray(from, from + length);
    found.push({ isPacked: method === methods.deflated, data, checksum });
  }
  const [entry, ...others] = found;
  if (entry !== undefined && others.length === 0) return entry;
  throw new ReportRefused("The zip file must have one CSV file in it.");
}

function endOf(zip: Buffer): number {
  const first = Math.max(0, zip.length - endBytes - commentBytesMax);
  for (let at = zip.length - endBytes; at >= first; at -= 1) {
    if (zip.readUInt32LE(at) === endSignature) return at;
  }
  throw new ReportRefused("The zip file is cut off.");
}

function decoded(bytes: Buffer): string {
  const encoding = { 0xff_fe: "utf-16le", 0xfe_ff: "utf-16be" }[
    bytes.length < 2 ? 0 : bytes.readUInt16BE()
  ];
  const text = new TextDecoder(encoding ?? "utf-8", { fatal: true }).decode(bytes);
  if (text.includes("\0")) throw new ReportRefused("The file is neither in UTF-8 nor in UTF-16.");
  return text;
}
