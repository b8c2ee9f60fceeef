/**
 * Appends batches of rows, each once, however often and by how many processes it is sent.
 *
 * An insert is ignored when the engine has noted its token, also while the first one is under way.
 * That note alone is not enough. The engine (26.7) writes it before the rows are in place: killed
 * in between, or when it could not put them there, it would ignore every repeat and they would be
 * lost. And it does not sync the note: a power cut may lose it, and a repeat would double the rows.
 * So a batch that may have been sent before is looked for, before and after it is sent again, and
 * sent under another token when an earlier one stands for rows that are not there.
 */
import assert from "node:assert";
import type { RowsBatch } from "./clickhouse.js";
import type { Reader, Writer } from "./connections.js";
import { asItIs, dataMark, literal, statementLengthMax } from "./sql-text.js";
import { columnNames, columnsOf, typeParts } from "./structure.js";

/** What of a batch goes to one engine. */
export interface Share {
  /** Of the INSERT, what follows its settings. */
  readonly source: string;
  /** A table expression with one of the rows; empty when there are none. */
  readonly sample: string;
}

/** All its rows. Sent as data they take the engine two thirds of what a SELECT takes. */
export function wholeOf({ structure, rows }: RowsBatch): Share {
  const first = rows.slice(0, rows.indexOf("\n") + 1);
  return { source: `${dataMark}${rows}`, sample: tabSeparatedTable(structure, first) };
}

export function tabSeparatedTable(structure: string, rows: string): string {
  return `format(TabSeparated, ${literal(structure)}, ${asItIs(rows)})`;
}

/** Tokens that stand for nothing: for each, an engine was killed at the same instant. */
const attemptsMax = 3;

/** @throws when it is not known to be there: the same batch is right again */
export async function appendTo(
  engine: Reader & Writer,
  batch: RowsBatch,
  share: Share,
): Promise<void> {
  const { token, rows, mayBeThere } = batch;
  assert(rows.endsWith("\n") && rows.length <= statementLengthMax, `${rows.length} characters`);
  if (!mayBeThere) return engine.write(insertOf(batch, share, token));
  for (let attempt = 0; !(await isThere(engine, batch, share)); attempt += 1) {
    if (attempt === attemptsMax) throw new Error(`${batch.table} does not take the batch ${token}`);
    const attemptToken = attempt === 0 ? token : `${token}/${attempt}`;
    await engine.write(insertOf(batch, share, attemptToken));
  }
}

function insertOf({ table, structure }: RowsBatch, { source }: Share, token: string): string {
  const settings = `${appendSettings}, insert_deduplication_token = ${literal(token)}`;
  const columns = columnNames(structure).join(", ");
  return `INSERT INTO ${table} (${columns}) SETTINGS ${settings} ${source}`;
}

const appendSettings = Object.entries({
  deduplicate_insert: "'enable'",
  // Refuses a SELECT whose rows may come in another order; the usual setting ignores the token.
  deduplicate_insert_select: "'force_enable'",
  // One block, so that it is there whole or not at all, whatever the server's profile says. A row
  // has a character at least; in memory it may be some times as large.
  max_insert_block_size: statementLengthMax,
  min_insert_block_size_rows: statementLengthMax,
  min_insert_block_size_bytes: 16 * statementLengthMax,
})
  .map(([name, value]) => `${name} = ${value}`)
  .join(", ");

/** A block is there whole or not at all: one row says it of all. */
async function isThere(
  engine: Reader,
  { table, structure }: RowsBatch,
  { sample }: Share,
): Promise<boolean> {
  const names = columnsOf(structure).flatMap(({ name, type }) =>
    incomparable.has(typeParts(type)[0]) ? [] : [name],
  );
  const columns = names.join(", ");
  const found = await engine.text(
    `WITH sample AS (SELECT ${columns} FROM ${sample})
     SELECT 1 FROM sample
     WHERE (
       SELECT count() FROM ${table} WHERE (${columns}) IN (SELECT ${columns} FROM sample)
     ) = 0`,
  );
  return found === "";
}

/** What `IN` does not look for as it is written. */
const incomparable: ReadonlySet<string> = new Set(["Array", "Nullable", "Tuple"]);
