/**
 * Exports (`docs/exports.md`). `X-Total-Count` has the number of rows up front. An export that is
 * cut short ends without the last chunk of its body, so no client can take it for whole.
 */
import { Readable } from "node:stream";
import type { Context } from "koa";
import { unavailable } from "../../schemas/http/errors.js";
import { Room } from "../../http/in-flight-quota.js";
import type { Service } from "../../service.js";
import { limits } from "../../config.js";
import type { Clocks } from "../reading/as-of.js";
import type { PinnedAsOf } from "../reading/pages.js";
import type { Column, Encoder, ExportRow, Piece } from "./columns.js";
import type { Format } from "./formats.js";

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

export interface Presented {
  readonly data: object;
  /** No more rows than `limits.seriesRowsMax`. */
  readonly table: () => readonly [table: Table, rows: readonly ExportRow[]];
}

export interface Written {
  readonly body: Uint8Array;
  /** Null: it is JSON. */
  readonly table: { readonly name: string; readonly rows: number } | null;
}

export function writtenTable(
  format: Format,
  { name, columns }: Table,
  rows: readonly ExportRow[],
): Written {
  const encoder = format.encoder(columns);
  const pieces = [encoder.begin(), encoder.rows(rows), encoder.end()];
  const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
  return { body, table: { name, rows: rows.length } };
}

export function sendTable(
  ctx: Context,
  format: Format,
  table: Table,
  rows: readonly ExportRow[],
  clocks: Clocks,
): void {
  sendWritten(ctx, format, writtenTable(format, table, rows), clocks);
}

export function sendWritten(
  ctx: Context,
  format: Format | null,
  { body, table }: Written,
  clocks: Clocks,
): void {
  if (format === null || table === null) ctx.type = "json";
  else head(ctx, format, table, table.rows, clocks);
  ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** Rows that are read while they are sent, all as of one moment. */
interface Walk extends Table {
  readonly asOf: PinnedAsOf;
  readonly clocks: Clocks;
  /** Begins anew with each call. */
  pages(): AsyncIterable<readonly ExportRow[]>;
  /** Of all pages; null: they have to be read twice. */
  count(): Promise<number | null>;
}

export interface Exports {
  /** @throws ApiError 503 when too many others are under way */
  send(ctx: Context, format: Format, walk: Walk): Promise<void>;
}

export function createExports({ logger, metrics }: Pick<Service, "logger" | "metrics">): Exports {
  const room = new Room(
    { all: limits.exportsAtOnceMax, perWorkspace: limits.exportsPerWorkspaceMax },
    (isOwn) => {
      const which = isOwn ? "exports of this workspace" : "exports";
      return unavailable("exports_busy", `Other ${which} are on their way; call again.`, 5);
    },
  );
  return {
    async send(ctx, format, walk) {
      const giveBack = room.enter(walk.asOf.workspace, 1);
      try {
        const count = (await walk.count()) ?? (await countPages(ctx, walk));
        const sending = new Sending(format.encoder(walk.columns), count);
        // Reads on when a piece is gone: one is being sent, one is ready.
        const body = Readable.from(sending.pieces(walk.pages()), { highWaterMark: 1 });
        body.once("error", (error) => {
          if (sending.outcome === "left") return;
          logger.error({ err: error, table: walk.name }, "export cut short");
        });
        body.once("close", () => {
          giveBack();
          metrics.exports.inc({ table: walk.name, outcome: sending.outcome });
        });
        head(ctx, format, walk, count, walk.clocks);
        ctx.set("X-At", timeText(walk.asOf.at));
        ctx.set("X-Known-At", timeText(walk.asOf.knownAt));
        // A caller who reads nothing for this long will not read the rest.
        ctx.res.setTimeout(limits.exportStalledMsMax);
        ctx.body = body;
        // Nobody would read or close it.
        if (!ctx.writable) body.destroy();
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  };
}

async function countPages(ctx: Context, walk: Walk): Promise<number> {
  let count = 0;
  for await (const rows of walk.pages()) {
    if (ctx.res.destroyed) break;
    count += rows.length;
  }
  return count;
}

class Sending {
  /** `left`: the caller went before the end. */
  outcome: "whole" | "cut_short" | "left" = "left";

  constructor(
    private readonly encoder: Encoder,
    private readonly count: number,
  ) {}

  async *pieces(pages: AsyncIterable<readonly ExportRow[]>): AsyncGenerator<Piece> {
    let sent = 0;
    try {
      const first = this.encoder.begin();
      if (first.length > 0) yield first;
      for await (const rows of pages) {
        sent += rows.length;
        const piece = this.encoder.rows(rows);
        if (piece.length > 0) yield piece;
      }
      if (sent !== this.count) {
        throw new Error(`${this.count} rows were counted and ${sent} were read`);
      }
      yield this.encoder.end();
      this.outcome = "whole";
    } catch (error) {
      this.outcome = "cut_short";
      throw error;
    }
  }
}

function head(
  ctx: Context,
  format: Format,
  table: Pick<Table, "name">,
  count: number,
  clocks: Clocks,
): void {
  ctx.set("Content-Type", format.contentType);
  ctx.attachment(`${table.name}.${format.extension}`);
  ctx.set("X-Total-Count", String(count));
  ctx.set("X-Complete-To", timeText(clocks.completeTo));
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
