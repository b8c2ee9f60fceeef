/** Reads a page of an uploaded export: its lines, by what they are about and by time. */
import type { HistoryPage } from "../../providers/backfill.js";
import type { HistoryExport } from "../../providers/export.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import type { Backfill } from "../../workspaces/history/backfills.js";
import { linesAfter, placeText } from "../../workspaces/history/export-lines.js";

const linesOfPage = 100;

export interface ExportList {
  readonly name: string;
  readonly reportsPayments: true;
  readonly ofEach?: undefined;
  readonly lineOf: HistoryExport["lineOf"];
}

export function exportList(of: HistoryExport): ExportList {
  return { name: of.name, reportsPayments: true, lineOf: (cells) => of.lineOf(cells) };
}

export async function readLines(
  stores: { readonly postgres: Postgres; readonly vault: Vault },
  list: ExportList,
  { id, after, coversTo, createdAt }: Backfill,
): Promise<HistoryPage> {
  // One more line, because whether a period ended depends on the next one.
  const lines = await linesAfter(stores, id, after, linesOfPage + 1);
  const page = lines.slice(0, linesOfPage);
  const asOf = (coversTo ?? createdAt).getTime();
  const read = page.map(({ cells, thing }, index) => {
    const next = lines[index + 1];
    const nextAt = next?.thing === thing ? next.at : null;
    const line = list.lineOf(cells);
    if (typeof line === "string") throw new Error(`a line that was kept cannot be read: ${line}`);
    return line.read({ asOf, nextAt });
  });
  const last = lines.length > page.length ? page.at(-1) : undefined;
  return {
    objects: page.length,
    events: read.flatMap(({ events }) => events),
    payments: read.flatMap(({ payments }) => payments),
    next: last === undefined ? null : placeText(last),
  };
}
