/**
 * Takes a CSV file of event records into the service, by its own ingest endpoint. The file is
 * checked from end to end first, and that is all unless `--apply` is given. Exit codes: 0 all is
 * right, 1 lines are wrong, 2 it could not be done.
 */
import { parseArgs } from "node:util";
import { checkRow } from "./check.js";
import { EventIds } from "./event-ids.js";
import { ImportRefused } from "./refused.js";
import { Repeats } from "./repeats.js";
import { readRows } from "./rows.js";
import { type Target, type Outcome, type SendLine, sendBatch } from "./send.js";
import { Tally } from "./tally.js";

/** Rows of a file one call of the import sends: well below the endpoint's own bounds. */
export const importBatchLinesMax = 1_000;
/** Wrong lines of a file that are reported; all are counted. */
const importProblemsReportedMax = 100;

const usage = `npm run import -- <file.csv> [--dry-run]
npm run import -- <file.csv> --apply --key svc_live_… [--url http://localhost:3000]
  [--from-line <line>] and [--delimiter ";"] go with both`;

const batchesBetweenWords = 50;

interface Order {
  readonly file: string;
  readonly delimiter: string;
  /** Null: a dry run. */
  readonly target: Target | null;
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
    const order = readWords(words);
    const isRight = await check(order, report);
    if (order.target === null) {
      report("Nothing was sent: this was a dry run. With --apply it is sent.");
      return isRight ? 0 : 1;
    }
    if (!isRight) {
      report("Nothing was sent: the lines above are wrong.");
      return 1;
    }
    return (await send(order, order.target, report)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error;
    report(error.message);
    return 2;
  }
}

/** @returns whether every line is right */
async function check(order: Order, report: (line: string) => void): Promise<boolean> {
  const problems = new Problems(report);
  const tally = new Tally();
  const ids = new EventIds();
  const repeats = new Repeats();
  for await (const row of readRows(order.file, order.delimiter)) {
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
  for (const line of tally.lines()) report(line);
  if (tally.isEmpty) report(problems.count > 0 ? "No row is right." : "There are no rows.");
  if (repeats.count > 0) {
    report(`${repeats.count} rows repeat an earlier row with their event_id; it counts once.`);
  }
  if (ids.repeated > 0) {
    report(`${ids.repeated} rows without event_id are equal to an earlier one; each counts.`);
  }
  return problems.count === 0;
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
  const problems = new Problems(report);
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
    for await (const row of readRows(order.file, order.delimiter)) {
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
    const goOn =
      sentUpTo < order.fromLine
        ? "Send the file again when that is mended"
        : `Sent up to line ${sentUpTo}. Go on with --from-line ${sentUpTo + 1}, or send the ` +
          "whole file again";
    throw new ImportRefused(`${error.message}\n${goOn}: nothing counts twice.`);
  }
  problems.end();
  report(`Taken: ${sums.taken}. Known already: ${sums.repeated}. Refused: ${problems.count}.`);
  return problems.count === 0;
}

/** Reported by line, the first ones; all are counted. */
class Problems {
  count = 0;
  constructor(readonly report: (line: string) => void) {}

  add(line: number, message: string): void {
    this.count += 1;
    if (this.count <= importProblemsReportedMax) this.report(`line ${line}: ${message}`);
  }

  end(): void {
    const more = this.count - importProblemsReportedMax;
    if (more > 0) this.report(`and ${more} more`);
    if (this.count > 0) this.report(`Wrong lines: ${this.count}`);
  }
}

/** @throws ImportRefused */
function readWords(words: readonly string[]): Order {
  const { values, positionals } = parsed(words);
  const [file, ...more] = positionals;
  const { apply, key = process.env["IMPORT_KEY"], delimiter } = values;
  const fromLine = Number(values["from-line"]);
  const isWrong =
    file === undefined ||
    more.length > 0 ||
    (apply && values["dry-run"]) ||
    delimiter.length !== 1 ||
    !Number.isSafeInteger(fromLine);
  if (isWrong) throw new ImportRefused(usage);
  if (!URL.canParse(values.url) || !/^https?:/.test(values.url)) {
    throw new ImportRefused("--url is the address of the service, as http://localhost:3000.");
  }
  if (!apply) return { file, delimiter, target: null, fromLine };
  if (!key) throw new ImportRefused("--apply needs --key, or the key in IMPORT_KEY.");
  return { file, delimiter, target: { url: values.url.replace(/\/+$/, ""), key }, fromLine };
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        apply: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
        key: { type: "string" },
        url: { type: "string", default: "http://localhost:3000" },
        delimiter: { type: "string", default: "," },
        "from-line": { type: "string", default: "1" },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new ImportRefused(`${error.message}\n${usage}`);
    throw error;
  }
}
