/**
 * Appends batches of rows, each once, however often and by how many processes it is sent. The
 * engine ignores an insert whose token it has noted, even while the first one is under way. The
 * note alone is not enough. The engine (26.7) writes it before the rows are in place: if it is
 * killed in between, it ignores every repeat, and the rows are lost. It also does not sync the
 * note: after a power cut a repeat may double the rows. So a batch that may have been sent before
 * is looked for before and after it is sent, and gets another token when an earlier one stands for
 * missing rows.
 */
import assert from "node:assert";
import type { RowsBatch } from "./clickhouse.js";
import type { Reader, Writer } from "./connections.js";
import {
  asItIs,
  dataMark,
  literal,
  statementLengthMax,
  columnNames,
  columnsOf,
  typeParts,
} from "./sql-text.js";

/** The part of a batch that goes to one engine. */
export interface Share {
  /** What follows the settings of the INSERT. */
  readonly source: string;
  /** A table expression with one of the rows; empty when there are none. */
  readonly sample: string;
}

/** As data, rows take the engine two thirds of what a SELECT takes. */
export function wholeOf({ structure, rows }: RowsBatch): Share {
  const first = rows.slice(0, rows.indexOf("\n") + 1);
  return { source: `${dataMark}${rows}`, sample: tabSeparatedTable(structure, first) };
}

export function tabSeparatedTable(structure: string, rows: string): string {
  return `format(TabSeparated, ${literal(structure)}, ${asItIs(rows)})`;
}

/** Tokens without rows: for each, an engine was killed at the same instant. */
const attemptsMax = 3;

/** @throws when the rows may be missing: the same batch succeeds later */
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
  // Otherwise it refuses a SELECT whose rows may change order; the usual setting ignores the token.
  deduplicate_insert_select: "'force_enable'",
  // One block, so that it is there whole or not at all, whatever the server's profile. A row has at
  // least one character; in memory it may be several times as large.
  max_insert_block_size: statementLengthMax,
  min_insert_block_size_rows: statementLengthMax,
  min_insert_block_size_bytes: 16 * statementLengthMax,
})
  .map(([name, value]) => `${name} = ${value}`)
  .join(", ");

/** A block is there whole or not at all, so one row is enough. */
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

/** `IN` does not find these as written. */
const incomparable: ReadonlySet<string> = new Set(["Array", "Nullable", "Tuple"]);
