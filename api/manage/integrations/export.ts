/**
 * An uploaded export of a provider: checks what it would book, or starts a backfill that books it.
 */
import { Readable } from "node:stream";
import type { Context } from "koa";
import { limits } from "../../../config.js";
import { readBytes, requireContentType } from "../../../http/body.js";
import { Room } from "../../../http/in-flight-quota.js";
import { readQuery, refuseParameters } from "../../../http/query.js";
import type { Provider } from "../../../providers/provider.js";
import { conflict, unprocessable } from "../../../schemas/http/errors.js";
import { exportQuery } from "../../../schemas/http/manage.js";
import type { Service } from "../../../service.js";
import { ExportRefused } from "../../../workspaces/history/export-refused.js";
import { takeExport } from "../../../workspaces/history/take-export.js";
import type { Workspace } from "../../../workspaces/workspaces.js";
import type { Calls } from "../calls.js";
import { backfillView, dateOf } from "./backfill.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/:integration/export";
/** What browsers and curl call the kinds of file; of Parquet most know no name. */
const types = [
  "text/csv",
  "application/gzip",
  "application/x-gzip",
  "application/vnd.apache.parquet",
  "application/octet-stream",
] as const;
/** Of all workspaces, in this process; of each workspace one. */
const filesAtOnceMax = 4;
/** A file is given to the reader in such parts, so that other work gets its turn. */
const partBytes = 64 * 1024;

export function exportRoutes(
  service: Service,
  calls: Calls<Workspace>,
  providers: ReadonlyMap<string, Provider>,
): void {
  const { postgres, vault } = service;
  const stores = { postgres, vault, providers };
  const room = new Room({ all: filesAtOnceMax, perWorkspace: 1 }, () =>
    conflict("export_running", "Another file is being read; send it again in a moment."),
  );

  const checked = { right: "manage", readsBody: true } as const;
  calls.answer("POST", `${path}/check`, checked, async (ctx, workspace) => {
    refuseParameters(ctx);
    const { report } = await take(ctx, workspace, null);
    return { status: "success", data: report };
  });

  const started = { ...checked, action: "backfill.started", status: 202 } as const;
  calls.answer("POST", path, started, async (ctx, workspace) => {
    const from = dateOf(readQuery(ctx, exportQuery).from, new Date());
    const { report, backfill, provider } = await take(ctx, workspace, from);
    if (backfill === null) {
      throw conflict("backfill_running", "A backfill of this integration is running.");
    }
    return { status: "success", data: { report, backfill: backfillView(backfill, provider) } };
  });

  /** @param from null: a dry run */
  async function take(ctx: Context, workspace: Workspace, from: Date | null) {
    const { id, environment, provider: token } = await integrationOf(ctx, service, workspace);
    const provider = providers.get(token);
    if (provider?.historyExport === undefined) {
      throw unprocessable("export_unsupported", `${token} has no export that can be read.`);
    }
    requireContentType(ctx, ...types);
    const leave = room.enter(workspace.id, 1);
    try {
      const bytes = await readBytes(ctx, limits.batchBytesMax);
      const files = [() => Readable.from(partsOf(bytes), { objectMode: false })];
      const integration = { id, environment, workspace: workspace.id };
      const taken = await takeExport(stores, { integration, provider, files, from });
      return { ...taken, provider };
    } catch (error) {
      if (!(error instanceof ExportRefused)) throw error;
      throw unprocessable("export_unreadable", error.message);
    } finally {
      leave();
    }
  }
}

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}
