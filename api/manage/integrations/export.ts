/**
 * An uploaded export of a provider: checks what it would book, or starts a backfill that books it.
 */
import { Readable } from "node:stream";
import { z } from "zod";
import { limits } from "../../../config.js";
import { readBytes, requireContentType } from "../../../http/body.js";
import { Room } from "../../../http/in-flight-quota.js";
import { conflict, unprocessable } from "../../../schemas/http/errors.js";
import { exportQuery, exportReport, takenExport } from "../../../schemas/http/manage.js";
import { ExportRefused } from "../../../workspaces/history/export-lines.js";
import { takeExport } from "../../../workspaces/history/take-export.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import { type Call, ofWorkspace } from "../calls.js";
import { backfillView, dateOf } from "./backfill.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/export";
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

const room = new Room({ all: filesAtOnceMax, perWorkspace: 1 }, () =>
  conflict("export_running", "Another file is being read; send it again in a moment."),
);

const upload = {
  right: "manage",
  // Up to 16 MiB; `npm run ops` reads larger ones.
  body: z.string().describe("CSV, plain or gzip, or Parquet, of up to 16 MiB"),
  bodyTypes: ["text/csv", "application/gzip", "application/vnd.apache.parquet"],
  errors: [409],
  find: integrationOf,
} as const;

export const exportRoutes = [
  ofWorkspace.post(`${path}/check`, "What a file of the provider's history would book", {
    ...upload,
    answer: exportReport,
    status: 200,
    run: async (call) => (await take(call, call.found, null)).report,
  }),
  ofWorkspace.post(path, "Read the provider's history from a file", {
    ...upload,
    action: "backfill.started",
    query: exportQuery,
    answer: takenExport,
    status: 202,
    async run(call) {
      const from = dateOf(call.query.from, new Date());
      const { report, backfill, provider } = await take(call, call.found, from);
      if (backfill === null) {
        throw conflict("backfill_running", "A backfill of this integration is running.");
      }
      return { report, backfill: backfillView(backfill, provider) };
    },
  }),
];

/** @param from null: a dry run */
async function take(call: Call, integration: IntegrationRecord, from: Date | null) {
  const { ctx, of, providers } = call;
  const { id, environment, provider: token } = integration;
  const provider = providers.get(token);
  if (provider?.historyExport === undefined) {
    throw unprocessable("export_unsupported", `${token} has no export that can be read.`);
  }
  requireContentType(ctx, ...types);
  const leave = room.enter(of.id, 1);
  try {
    const bytes = await readBytes(ctx, limits.batchBytesMax);
    const files = [() => Readable.from(partsOf(bytes), { objectMode: false })];
    const given = { id, environment, workspace: of.id };
    const taken = await takeExport(call, { integration: given, provider, files, from });
    return { ...taken, provider };
  } catch (error) {
    if (!(error instanceof ExportRefused)) throw error;
    throw unprocessable("export_unreadable", error.message);
  } finally {
    leave();
  }
}

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}
