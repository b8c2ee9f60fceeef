/**
 * Reads a provider's export, CSV packed or plain, or Parquet: says what of it can be booked and
 * what cannot, and keeps its lines where they are to be booked.
 */
import { pipeline, Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { limits } from "../../config.js";
import type { Cells, ExportPlace } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import { type CsvLine, csvLines } from "../../runtime/csv-lines.js";
import type { ExportReport } from "../../schemas/http/manage.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import type { Environment } from "../../schemas/records/records.js";
import { type ExportLine, ExportRefused } from "./export-lines.js";
import { parquetLines, parquetMagic } from "./parquet-lines.js";
import type { IsMirrored } from "../integrations.js";

/** Of all files of one reading: what each comes to is held until the last line is read. */
const purchasesMax = 2_000_000;
/** Unpacked, of one file. */
const fileBytesMax = 8 * 1024 * 1024 * 1024;
const linesAtOnce = 100;
const gzipMagic = [0x1f, 0x8b];

type Exporter = Pick<Provider, "decode" | "historyExport" | "token">;

interface Given {
  readonly provider: Exporter;
  readonly environment: Environment;
  readonly isMirrored: IsMirrored;
  /** Null: a dry run. */
  readonly keep: ((lines: readonly ExportLine[]) => Promise<void>) | null;
}

/** @param files in any order @throws ExportRefused */
export async function readExport(
  files: Iterable<() => Readable>,
  given: Given,
): Promise<{ readonly report: ExportReport; readonly asOf: number | null }> {
  const tally = new Tally();
  let kept: ExportLine[] = [];
  const flush = async (): Promise<void> => {
    if (kept.length > 0) await given.keep?.(kept);
    kept = [];
    // The parser gives nobody else their turn.
    await setImmediate();
  };
  for (const open of files) {
    for await (const { line, cells } of linesOf(open(), given.provider)) {
      const read = await readLine(cells, given);
      if (typeof read === "string") {
        tally.leaveOut(read, line);
        continue;
      }
      tally.add(read);
      if (given.keep !== null) kept.push({ ...read.place, cells: read.cells });
      if (tally.lines % linesAtOnce === 0) await flush();
    }
  }
  await flush();
  return { report: tally.report(), asOf: tally.asOf };
}

interface ReadLine {
  readonly place: ExportPlace;
  readonly cells: Cells;
  readonly money: Money | null;
}

/** Minor units. */
interface Money {
  readonly currency: string;
  readonly amount: bigint;
  readonly refunded: bigint;
}

/** @returns why it is left out: never what is in it */
async function readLine(
  cells: Cells | null,
  { provider, environment, isMirrored }: Given,
): Promise<ReadLine | string> {
  if (cells === null) return "more or fewer cells than the first line has columns";
  const line = provider.historyExport?.lineOf(cells) ?? "";
  if (typeof line === "string") return line;
  const { place } = line;
  if (place.isSandbox !== (environment === "test")) {
    return place.isSandbox ? "bought in a sandbox" : "bought outside the sandbox";
  }
  const { events, payments } = line.read(alone);
  for (const { body } of events) {
    const decoded = provider.decode(body);
    if (decoded.outcome === "ignored") return decoded.why;
    if (decoded.outcome === "rejected") return decoded.detail;
    if (await isMirrored(decoded.mirrorOf)) return `${decoded.mirrorOf} is connected here itself`;
  }
  return { place, cells, money: payments[0] ?? null };
}

/** Without its end, which the lines beside it decide. */
const alone = { nextAt: null, asOf: 0, bookedIn: null };

/** @throws ExportRefused */
async function* linesOf(
  source: Readable,
  { historyExport, token }: Exporter,
): AsyncGenerator<{ readonly line: number; readonly cells: Cells | null }> {
  if (historyExport === undefined) throw new ExportRefused(`${token} has no export to read.`);
  const { required, optional } = historyExport.columns;
  const opened = await openedFile(source);
  if (opened.isParquet) {
    yield* parquetLines(opened.content, historyExport.columns);
    return;
  }
  const reading = { delimiter: ",", lineBytesMax: limits.bodyBytesMax, isLenient: true };
  let header: readonly string[] | null = null;
  try {
    for await (const { line, cells } of csvLines(opened.content, reading)) {
      if (header !== null) {
        yield { line, cells: cellsOf(header, cells, [...required, ...optional]) };
        continue;
      }
      header = cells;
      const missing = required.filter((name) => !cells.includes(name));
      if (missing.length > 0) {
        throw new ExportRefused(`The first line lacks these columns: ${missing.join(", ")}.`);
      }
    }
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    // What zlib and csv-parse say of what they are given; a store's failures have other names.
    if (!/^(Z_|CSV_)/.test(String(error.code))) throw error;
    throw new ExportRefused(`The file cannot be read: ${error.message}`, { cause: error });
  }
  if (header === null) throw new ExportRefused("The file is empty.");
}

function cellsOf(
  header: readonly string[],
  cells: CsvLine["cells"],
  read: readonly string[],
): Cells | null {
  if (cells.length !== header.length) return null;
  const pairs = header.map((name, index) => [name, cells[index] ?? ""] as const);
  return new Map(pairs.filter(([name, text]) => text !== "" && read.includes(name)));
}

async function openedFile(
  source: Readable,
): Promise<{ readonly content: Readable; readonly isParquet: boolean }> {
  const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  const begin = first.done === true ? Buffer.alloc(0) : first.value;
  const whole = Readable.from(joined(begin, chunks), { objectMode: false });
  const isParquet = begin.subarray(0, parquetMagic.length).equals(parquetMagic);
  if (isParquet || !gzipMagic.every((byte, index) => begin[index] === byte)) {
    return { content: whole, isParquet };
  }
  const gunzip = createGunzip();
  pipeline(whole, gunzip, () => undefined);
  return { content: Readable.from(bounded(gunzip), { objectMode: false }), isParquet };
}

async function* joined(first: Buffer, more: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await more.next(); next.done !== true; next = await more.next()) yield next.value;
}

async function* bounded(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > fileBytesMax) throw new ExportRefused("The file is too large: split it.");
    yield chunk;
  }
}

/** Of each purchase its newest line counts, as it will be kept. */
class Tally {
  /** When the files were written, ms since 1970, at the earliest. */
  asOf: number | null = null;
  lines = 0;
  readonly #purchases = new Map<string, Omit<ReadLine, "cells">>();
  readonly #leftOut = new Map<string, { lines: number; firstLine: number }>();

  /** @throws ExportRefused */
  add({ place, money }: ReadLine): void {
    this.lines += 1;
    this.asOf = Math.max(this.asOf ?? 0, place.revision, place.at);
    const known = this.#purchases.get(place.purchase);
    if (known !== undefined && known.place.revision > place.revision) return;
    this.#purchases.set(place.purchase, { place, money });
    if (this.#purchases.size > purchasesMax) {
      throw new ExportRefused(`More than ${purchasesMax} purchases: read it in parts.`);
    }
  }

  leaveOut(why: string, line: number): void {
    this.lines += 1;
    const known = this.#leftOut.get(why) ?? { lines: 0, firstLine: line };
    this.#leftOut.set(why, { ...known, lines: known.lines + 1 });
  }

  report(): ExportReport {
    const purchases = [...this.#purchases.values()];
    const first = purchases.reduce((at, { place }) => Math.min(at, place.at), Infinity);
    const timeOf = (at: number | null) => (at === null ? null : new Date(at).toISOString());
    return {
      lines: this.lines,
      purchases: purchases.length,
      first: timeOf(purchases.length === 0 ? null : first),
      as_of: timeOf(this.asOf),
      sums: sumsOf(purchases.flatMap(({ money }) => money ?? [])),
      left_out: [...this.#leftOut].map(([why, { lines, firstLine }]) => ({
        why,
        lines,
        first_line: firstLine,
      })),
    };
  }
}

function sumsOf(all: readonly Money[]): ExportReport["sums"] {
  const sums = new Map<
    string,
    { payments: number; amount: bigint; refunds: number; refunded: bigint }
  >();
  for (const { currency, amount, refunded } of all) {
    const known = sums.get(currency) ?? { payments: 0, amount: 0n, refunds: 0, refunded: 0n };
    sums.set(currency, {
      payments: known.payments + 1,
      amount: known.amount + amount,
      refunds: known.refunds + (refunded === 0n ? 0 : 1),
      refunded: known.refunded + refunded,
    });
  }
  return [...sums].map(([currency, { payments, amount, refunds, refunded }]) => {
    const exponent = knownExponentOf(currency);
    return {
      currency,
      payments,
      amount: toJsonNumber(amount, exponent),
      refunds,
      refunded: toJsonNumber(refunded, exponent),
    };
  });
}
