/** The CSV files of another tool's export, each known by its columns, held as tables. */
import { ImportRefused } from "../refused.js";
import { cellsOf, linesOf } from "../rows.js";

/** Of all files of one export: rows of several files belong together, so all are held. */
const exportRowsMax = 1_000_000;

export interface Line {
  /** Of its file, from 1. */
  readonly line: number;
  /** By column as `columnName` writes it; empty cells are left out. */
  readonly cells: ReadonlyMap<string, string>;
}

export interface Dataset {
  /** Columns that it alone has together, as `columnName` writes them. */
  readonly columns: readonly string[];
  /** Why no file of it is read; absent: it is. */
  readonly refused?: string;
}

export type Tables<Name extends string> = ReadonlyMap<Name, readonly Line[]>;

/** @throws ImportRefused */
export async function readTables<Name extends string>(
  files: readonly string[],
  datasets: Readonly<Record<Name, Dataset>>,
  delimiter: string,
): Promise<Tables<Name>> {
  const tables = new Map<Name, Line[]>();
  let rows = 0;
  for (const file of files) {
    let table: Line[] | null = null;
    let header: readonly string[] = [];
    for await (const { line, cells } of linesOf(file, delimiter)) {
      if (table === null) {
        header = cells.map(columnName);
        const name = datasetOf(file, header, datasets);
        if (tables.has(name)) throw new ImportRefused(`Two files are ${name}: give one of them.`);
        table = [];
        tables.set(name, table);
        continue;
      }
      const named = cellsOf(header, cells);
      if (named === null) {
        throw new ImportRefused(`${file}, line ${line} has more or fewer cells than line 1.`);
      }
      table.push({ line, cells: named });
      rows += 1;
      if (rows > exportRowsMax) {
        throw new ImportRefused(`The files have more than ${exportRowsMax} rows: export less.`);
      }
    }
  }
  return tables;
}

/** `Invoice external ID`, `INVOICE_EXTERNAL_ID` and `invoice.external_id` are one name. */
function columnName(text: string): string {
  return text.toLowerCase().replaceAll(/[_.\s]+/g, " ");
}

function datasetOf<Name extends string>(
  file: string,
  header: readonly string[],
  datasets: Readonly<Record<Name, Dataset>>,
): Name {
  const all = Object.entries<Dataset>(datasets);
  const found = all.find(([, { columns }]) => columns.every((name) => header.includes(name)));
  if (found === undefined) {
    const encoding = header.some((name) => /[\0\ufffd]/.test(name)) ? " It is not in UTF-8." : "";
    const known = all
      .filter(([, { refused }]) => refused === undefined)
      .map(([name, { columns }]) => `${name} (${columns.join(", ")})`);
    throw new ImportRefused(
      `${file} has the columns of no file that is read here.${encoding} Those are: ` +
        `${known.join("; ")}.`,
    );
  }
  const [name, { refused }] = found;
  if (refused !== undefined) throw new ImportRefused(`${file} holds ${name}: ${refused}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is a key of `datasets`
  return name as Name;
}

/** Lines that become no event, by reason. */
export class LeftOut {
  readonly #reasons = new Map<string, { lines: number; first: number }>();

  add(why: string, line: number): void {
    const { lines, first } = this.#reasons.get(why) ?? { lines: 0, first: line };
    this.#reasons.set(why, { lines: lines + 1, first });
  }

  lines(): string[] {
    return Array.from(
      this.#reasons,
      ([why, { lines, first }]) => `  left out: ${lines} lines, the first is line ${first}: ${why}`,
    );
  }
}

const moment = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?(?:\.\d+)?)?(?: ?UTC|Z|\+00:?00)?$/;

/** A day or a time in UTC, as these tools write it. @returns null: it is none */
export function timeOf(text: string | undefined): string | null {
  const [, day, clock = "00:00", seconds = ":00"] = moment.exec(text ?? "") ?? [];
  const time = `${day}T${clock}${seconds}Z`;
  return day === undefined || Number.isNaN(Date.parse(time)) ? null : time;
}

/** A whole number of cents. @returns null: it is none */
export function centsOf(text: string | undefined): bigint | null {
  return /^-?\d{1,18}$/.test(text ?? "") ? BigInt(text ?? "") : null;
}
