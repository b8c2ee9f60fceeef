/** Exports of other tools: from their files to rows as the import reads them. */
import type { Row } from "../rows.js";
import { ImportRefused } from "../refused.js";
import { baremetrics } from "./baremetrics.js";
import { chartMogul } from "./chartmogul.js";
import type { ExportFormat } from "./format.js";
import { LeftOut, readTables } from "./tables.js";

export interface ReadExport {
  /** In the order of their lines, from 1. */
  readonly rows: readonly Row[];
  /** What is left out and cannot be had, for a person. */
  readonly report: readonly string[];
}

type Reader = (files: readonly string[], delimiter: string) => Promise<ReadExport>;

/** By the name they are asked for. */
export const exportReaders: ReadonlyMap<string, Reader> = new Map([
  ["chartmogul", readerOf(chartMogul)],
  ["baremetrics", readerOf(baremetrics)],
]);

function readerOf<Name extends string>(format: ExportFormat<Name>): Reader {
  return async (files, delimiter) => {
    const tables = await readTables(files, format.datasets, delimiter);
    const missing = format.required.filter((name) => !tables.has(name));
    if (missing.length > 0) {
      throw new ImportRefused(`These files of the export are missing: ${missing.join(", ")}.`);
    }
    const leftOut = new LeftOut();
    const { events, notes } = format.events(tables, leftOut);
    // Of several files, so that lines would be no names of them.
    const rows = events.map((cells, index) => ({ line: index + 1, cells: formA(cells) }));
    const sentences = format.missing.map((sentence) => `Cannot be had: ${sentence}`);
    return { rows, report: [...notes, ...leftOut.lines(), ...sentences] };
  };
}

function formA(cells: Readonly<Record<string, string | undefined>>): Row["cells"] {
  const given = Object.entries({ provider: "custom", ...cells });
  return new Map(given.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])));
}
