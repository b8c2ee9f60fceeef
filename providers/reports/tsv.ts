/** Text with tabs between cells and no quotes, as App Store Connect writes it. */

export interface TsvTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** `Total_Rows` and the like, below the rows. */
  readonly totals: ReadonlyMap<string, string>;
}

/** Above the columns a report may say whose it is. */
const preambleLinesMax = 10;

/**
 * @param columns that the line of columns has
 * @returns a text where it is no such table: why
 */
export function readTsv(text: string, columns: readonly string[]): TsvTable | string {
  const lines = text.split(/\r?\n/);
  const found = lines
    .slice(0, preambleLinesMax)
    .findIndex((line) => columns.every((name) => cellsOf(line).includes(name)));
  if (found < 0) return `no line has the columns ${columns.join(", ")}`;
  const header = cellsOf(lines[found] ?? "");
  const rows: string[][] = [];
  const totals = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    if (index <= found || line.trim() === "") continue;
    const cells = cellsOf(line);
    const [first = "", second = ""] = cells;
    // Sums by country follow the rows of some reports.
    if (first === "Country Of Sale") break;
    if (/^Total_/i.test(first)) totals.set(first.toLowerCase(), second);
    else if (cells.length !== header.length) {
      return `line ${index + 1} has ${cells.length} cells, and there are ${header.length} columns`;
    } else rows.push(cells);
  }
  return { header, rows, totals };
}

function cellsOf(line: string): string[] {
  return line.split("\t").map((cell) => cell.trim());
}
