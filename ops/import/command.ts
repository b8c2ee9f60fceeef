/**
 * Takes a CSV file of event records, or another tool's export, into the service, by its own ingest
 * endpoint. The file is checked from end to end first, and that is all unless `--apply` is given.
 * Exit codes: 0 all is right, 1 lines are wrong, 2 it could not be done.
 */
import { monthNumber, monthsOf, monthText } from "../../schemas/months.js";
import { parseWords, UsageError } from "../command-line.js";
import { checkRow } from "./check.js";
import { coveredMonths } from "./covered.js";
import { EventIds } from "./event-ids.js";
import { exportReaders, type ReadExport } from "./exports/readers.js";
import { ImportRefused } from "./refused.js";
import { Repeats } from "./repeats.js";
import { readRows, type Row } from "./rows.js";
import { type Target, type Outcome, type SendLine, sendBatch } from "./send.js";
import { Tally } from "./tally.js";

/** Rows of a file one call of the import sends: well below the endpoint's own bounds. */
export const importBatchLinesMax = 1_000;
/** Wrong lines of a file that are reported; all are counted. */
const importProblemsReportedMax = 100;

const usage = `npm run import -- <file.csv> [--dry-run]
npm run import -- <file.csv> --apply --key svc_live_… [--url http://localhost:3000]
  [--from-line <line>] and [--delimiter ";"] go with both
npm run import -- --export ${[...exportReaders.keys()].join("|")} <file.csv>… [--key svc_live_…]
  [--apply [--beside]]`;

const batchesBetweenWords = 50;

interface Order {
  readonly files: readonly string[];
  readonly delimiter: string;
  /** Null: the file is one of event records. */
  readonly exported: ReadExport | null;
  /** Where a key is given. */
  readonly target: Target | null;
  readonly apply: boolean;
  /** An export is sent although other providers' events are booked in its months. */
  readonly beside: boolean;
  /** The first line that is sent. */
  readonly fromLine: number;
}

/** @returns the exit code */
export async function importCommand(
  words: readonly string[],
  report: (line: string) => void,
): Promise<number> {
  if (words.includes("--help")) {
    report(usage);
    return 0;
  }
  try {
    const order = await readWords(words);
    const isRight = await check(order, report);
    const mayDouble = order.exported !== null && (await isCovered(order, order.exported, report));
    if (!order.apply || order.target === null) {
      report("Nothing was sent: this was a dry run. With --apply it is sent.");
      return isRight ? 0 : 1;
    }
    if (!isRight) {
      report("Nothing was sent: the lines above are wrong.");
      return 1;
    }
    if (mayDouble && !order.beside) {
      report(
        "Nothing was sent: with --beside it is, where none of those payments is in the files.",
      );
      return 1;
    }
    return (await send(order, order.target, report)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ImportRefused || error instanceof UsageError)) throw error;
    report(error.message);
    return 2;
  }
}

/** @returns whether every line is right */
async function check(order: Order, report: (line: string) => void): Promise<boolean> {
  const problems = problemsOf(order, report);
  const tally = new Tally();
  const ids = new EventIds();
  const repeats = new Repeats();
  for await (const row of rowsOf(order)) {
    const checked = checkRow(row, ids, Date.now());
    if (!checked.ok) {
      problems.add(row.line, checked.message);
      continue;
    }
    // Ids that are made are never given twice.
    const bringsId = row.cells?.has("event_id") === true;
    const place = bringsId ? repeats.place(checked, row.line) : { kind: "first" as const };
    if (place.kind === "first") tally.add(checked.record);
    if (place.kind === "conflict") problems.add(row.line, conflictWith(place.line));
  }
  problems.end();
  for (const line of [...tally.lines(), ...(order.exported?.report ?? [])]) report(line);
  if (tally.isEmpty) report(problems.count > 0 ? "No row is right." : "There are no rows.");
  if (repeats.count > 0) {
    report(`${repeats.count} rows repeat an earlier row with their event_id; it counts once.`);
  }
  if (ids.repeated > 0) {
    report(`${ids.repeated} rows without event_id are equal to an earlier one; each counts.`);
  }
  return problems.count === 0;
}

function rowsOf({ files, delimiter, exported }: Order): AsyncIterable<Row> | Iterable<Row> {
  return exported?.rows ?? readRows(files[0] ?? "", delimiter);
}

/** @returns whether what the export says may be booked already, under other ids */
async function isCovered(
  { target, beside }: Order,
  { rows }: ReadExport,
  report: (line: string) => void,
): Promise<boolean> {
  const times = rows.map(({ cells }) => Date.parse(cells?.get("occurred_at") ?? ""));
  const months = new Set(times.map((at) => monthText(monthNumber(at))));
  if (target === null) {
    report("With --key its months are compared with what providers have booked here already.");
    return false;
  }
  const span = times.reduce(
    ({ from, to }, at) => ({ from: Math.min(from, at), to: Math.max(to, at) }),
    { from: Infinity, to: -Infinity },
  );
  const asked = monthsOf(span).filter(({ month }) => months.has(month));
  const covered = await coveredMonths(target, asked);
  if (covered.length === 0) return false;
  report(
    "Booked here already in these months; payments that are in the files too would count twice" +
      `${beside ? " (--beside)" : ""}:`,
  );
  for (const line of covered) report(`  ${line}`);
  return true;
}

function conflictWith(line: number): string {
  return `line ${line} has this event_id with other content (event_id_conflict)`;
}

/** @returns whether the service took every line */
async function send(
  order: Order,
  target: Target,
  report: (line: string) => void,
): Promise<boolean> {
  const problems = problemsOf(order, report);
  const ids = new EventIds();
  const sums = { taken: 0, repeated: 0 };
  const note = (outcome: Outcome): void => {
    if (outcome.kind === "refused") problems.add(outcome.line, outcome.message);
    else sums[outcome.kind] += 1;
  };
  let batch: SendLine[] = [];
  let batches = 0;
  let sentUpTo = order.fromLine - 1;
  const flush = async (): Promise<void> => {
    const last = batch.at(-1);
    if (last === undefined) return;
    for (const outcome of await sendBatch(target, batch)) note(outcome);
    sentUpTo = last.line;
    batch = [];
    batches += 1;
    if (batches % batchesBetweenWords === 0) report(`Sent up to line ${sentUpTo}`);
  };
  try {
    for await (const row of rowsOf(order)) {
      // Also of what is not sent again: equal rows are distinguished by their count.
      const checked = checkRow(row, ids, Date.now());
      if (!checked.ok) throw new ImportRefused("The file changed while it was read.");
      if (row.line < order.fromLine) continue;
      batch.push({ line: row.line, json: checked.json });
      if (batch.length === importBatchLinesMax) await flush();
    }
    await flush();
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error;
    const isWithoutLines = order.exported !== null;
    const goOn =
      isWithoutLines || sentUpTo < order.fromLine
        ? "Send the file again when that is mended"
        : `Sent up to line ${sentUpTo}. Go on with --from-line ${sentUpTo + 1}, or send the ` +
          "whole file again";
    throw new ImportRefused(`${error.message}\n${goOn}: nothing counts twice.`);
  }
  problems.end();
  report(`Taken: ${sums.taken}. Known already: ${sums.repeated}. Refused: ${problems.count}.`);
  return problems.count === 0;
}

function problemsOf({ exported }: Order, report: (line: string) => void): Problems {
  const nameOf = (line: number) => exported?.rows[line - 1]?.cells?.get("event_id");
  return new Problems(report, (line) => nameOf(line) ?? `line ${line}`);
}

/** Reported by line, the first ones; all are counted. */
class Problems {
  count = 0;
  constructor(
    readonly report: (line: string) => void,
    readonly nameOf: (line: number) => string,
  ) {}

  add(line: number, message: string): void {
    this.count += 1;
    if (this.count <= importProblemsReportedMax) this.report(`${this.nameOf(line)}: ${message}`);
  }

  end(): void {
    const more = this.count - importProblemsReportedMax;
    if (more > 0) this.report(`and ${more} more`);
    if (this.count > 0) this.report(`Wrong lines: ${this.count}`);
  }
}

/** @throws ImportRefused, UsageError */
async function readWords(words: readonly string[]): Promise<Order> {
  const { values, positionals: files } = parseWords(usage, {
    args: [...words],
    allowPositionals: true,
    options: {
      apply: { type: "boolean", default: false },
      beside: { type: "boolean", default: false },
      "dry-run": { type: "boolean", default: false },
      export: { type: "string" },
      key: { type: "string" },
      url: { type: "string", default: "http://localhost:3000" },
      delimiter: { type: "string", default: "," },
      "from-line": { type: "string", default: "1" },
    },
  });
  const { apply, key = process.env["IMPORT_KEY"], delimiter, beside, export: format } = values;
  const fromLine = Number(values["from-line"]);
  const read = exportReaders.get(format ?? "");
  const isWrong =
    files.length === 0 ||
    (format === undefined ? files.length > 1 || beside : fromLine !== 1) ||
    (apply && values["dry-run"]) ||
    delimiter.length !== 1 ||
    !Number.isSafeInteger(fromLine);
  if (isWrong) throw new UsageError(usage);
  if (format !== undefined && read === undefined) {
    throw new ImportRefused(`--export is one of ${[...exportReaders.keys()].join(", ")}.`);
  }
  if (!URL.canParse(values.url) || !/^https?:/.test(values.url)) {
    throw new ImportRefused("--url is the address of the service, as http://localhost:3000.");
  }
  if (apply && !key) throw new ImportRefused("--apply needs --key, or the key in IMPORT_KEY.");
  const target = key ? { url: values.url.replace(/\/+$/, ""), key } : null;
  const exported = (await read?.(files, delimiter)) ?? null;
  return { files, delimiter, exported, target, apply, beside, fromLine };
}
