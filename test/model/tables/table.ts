/** Text tables: one row per event, the expected figures in the last columns. */

export type Row = Readonly<Record<string, string>>;

/** Columns are separated by `|` and named by the first line; `#` begins a comment. */
export function rowsOf(table: string): Row[] {
  const [heading = [], ...rows] = table
    .split("\n")
    .map((line) => line.replace(/#.*$/, "").trim())
    .filter((line) => line !== "")
    .map((line) => line.split("|").map((part) => part.trim()));
  return rows.map((cells) => {
    if (cells.length !== heading.length) throw new Error(`not a row: ${cells.join(" | ")}`);
    return Object.fromEntries(heading.map((name, index) => [name, cells[index] ?? ""]));
  });
}

export function cell(row: Row, name: string): string {
  const value = row[name];
  if (value === undefined) throw new Error(`no column ${name}`);
  return value;
}

/** "2026-01-31" or "2026-01-31 12:00", UTC. */
export function momentOf(text: string): number {
  const time = Date.parse(`${text.replace(" ", "T")}${text.includes(":") ? "Z" : "T00:00Z"}`);
  if (Number.isNaN(time)) throw new Error(`not a moment: ${text}`);
  return time;
}

/** "12.50" → 1250n: as many places as are written. */
export function minorUnits(text: string): bigint {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`not an amount: ${text}`);
  return BigInt(text.replace(".", ""));
}
