/** Which form of a list the caller wants (`format`, else `Accept`). JSON is the default. */
import type { Context } from "koa";
import { malformed, notAcceptable } from "../../schemas/http/errors.js";
import type { ExportFormat } from "../../schemas/http/formats.js";
import type { Column, Encoder } from "./columns.js";
import { csvEncoder } from "./csv.js";
import { parquetEncoder } from "./parquet.js";

export interface Format {
  readonly mediaType: string;
  readonly contentType: string;
  readonly description: string;
  readonly extension: ExportFormat;
  encoder(columns: readonly Column[]): Encoder;
}

/** What every list and series is offered in, besides JSON. */
export const formats: readonly Format[] = [
  {
    mediaType: "text/csv",
    contentType: "text/csv; charset=utf-8; header=present",
    description: "All rows, no pages: RFC 4180 with a header line.",
    extension: "csv",
    encoder: csvEncoder,
  },
  {
    mediaType: "application/x-ndjson",
    contentType: "application/x-ndjson; charset=utf-8",
    description: "All rows, no pages: one object a line.",
    extension: "ndjson",
    encoder: () => ({
      begin: () => "",
      // The same object as in `data`.
      rows: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
      end: () => "",
    }),
  },
  {
    mediaType: "application/vnd.apache.parquet",
    contentType: "application/vnd.apache.parquet",
    description: "All rows, no pages: a Parquet file.",
    extension: "parquet",
    encoder: parquetEncoder,
  },
];

/**
 * @param asked the parameter `format`, which links can contain and which wins over the header
 * @returns null for JSON
 * @throws ApiError 406 when nothing that is offered is accepted
 */
export function formatOf(ctx: Context, asked: ExportFormat | "json" | undefined): Format | null {
  ctx.vary("Accept");
  if (asked !== undefined) return formats.find(({ extension }) => extension === asked) ?? null;
  const mediaTypes = ["application/json", ...formats.map(({ mediaType }) => mediaType)];
  // Many callers add a charset, which would not match otherwise.
  const accepted = ctx.accepts(mediaTypes.flatMap((type) => [type, `${type};charset=utf-8`]));
  if (accepted === false) throw notAcceptable(`This answers in ${mediaTypes.join(", ")}.`);
  return formats.find(({ mediaType }) => accepted.startsWith(mediaType)) ?? null;
}

/** @throws ApiError 400 when a page is asked for: an export is the whole list */
export function refusePages(query: Readonly<Partial<Record<"limit" | "cursor", unknown>>>): void {
  for (const name of ["limit", "cursor"] as const) {
    if (query[name] === undefined) continue;
    throw malformed("export_is_whole", `An export is the whole list: leave out ${name}.`, name);
  }
}
