/**
 * Lines of a provider's export between their upload and their booking: sealed, and in the order in
 * which they are read, whatever their order in the file.
 */
import { z } from "zod";
import type { Cells, ExportPlace } from "../../providers/backfill.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import { parseJson } from "../../schemas/parse.js";

/** It is no such file; the message is for a person. */
export class ExportRefused extends Error {
  override readonly name = "ExportRefused";
}

interface Stores {
  readonly postgres: Postgres;
  readonly vault: Vault;
}

type Kept = Omit<ExportPlace, "isSandbox">;

export interface ExportLine extends Kept {
  readonly cells: Cells;
}

/** Of several lines of one purchase that which changed last stays. */
export async function keepLines(
  { postgres, vault }: Stores,
  backfill: string,
  lines: readonly ExportLine[],
): Promise<void> {
  // One statement may change a row only once.
  const newest = new Map<string, ExportLine>();
  for (const line of lines) {
    const key = placeText(line);
    if (line.revision >= (newest.get(key)?.revision ?? 0)) newest.set(key, line);
  }
  const rows = [...newest.values()].map(({ cells, ...line }) => ({
    ...line,
    sealed: vault.seal(textOf(cells), boundTo(backfill, line)).toString("base64"),
  }));
  await postgres.query(
    `INSERT INTO backfill_lines (backfill, thing, at, purchase, revision, sealed)
     SELECT $1, thing, at, purchase, revision, decode(sealed, 'base64')
     FROM json_to_recordset($2::json)
       AS line (thing text, at bigint, purchase text, revision bigint, sealed text)
     ON CONFLICT (backfill, thing, at, purchase) DO UPDATE
     SET revision = excluded.revision, sealed = excluded.sealed
     WHERE backfill_lines.revision <= excluded.revision`,
    [backfill, JSON.stringify(rows)],
  );
}

interface Row {
  readonly thing: string;
  readonly at: bigint;
  readonly purchase: string;
  readonly revision: bigint;
  readonly sealed: Buffer;
}

/** @param after `placeText` of a line; null: from the first */
export async function linesAfter(
  { postgres, vault }: Stores,
  backfill: string,
  after: string | null,
  linesMax: number,
): Promise<ExportLine[]> {
  const place = after === null ? ["", -1, ""] : placeIn(after);
  const rows = await postgres.query<Row>(
    `SELECT thing, at, purchase, revision, sealed FROM backfill_lines
     WHERE backfill = $1 AND (thing, at, purchase) > ($2, $3, $4)
     ORDER BY thing, at, purchase LIMIT $5`,
    [backfill, ...place, linesMax],
  );
  return rows.map(({ sealed, ...row }) => {
    const kept = { ...row, at: Number(row.at), revision: Number(row.revision) };
    return { ...kept, cells: cellsIn(vault.open(sealed, boundTo(backfill, kept))) };
  });
}

export function placeText({
  thing,
  at,
  purchase,
}: Pick<Kept, "thing" | "at" | "purchase">): string {
  return JSON.stringify([thing, at, purchase]);
}

const place = z.tuple([z.string(), z.number(), z.string()]);

function placeIn(text: string): z.output<typeof place> {
  return place.parse(JSON.parse(text));
}

const cellPairs = z.array(z.tuple([z.string(), z.string()]));

function textOf(cells: Cells): Buffer {
  return Buffer.from(JSON.stringify([...cells]));
}

function cellsIn(bytes: Buffer): Cells {
  const parsed = parseJson(bytes);
  if (!parsed.ok) throw new Error("a line of an export is no JSON");
  return new Map(cellPairs.parse(parsed.value));
}

function boundTo(backfill: string, line: Pick<Kept, "thing" | "at" | "purchase">): Buffer {
  return Buffer.from(`backfill_line:${backfill}:${placeText(line)}`);
}
