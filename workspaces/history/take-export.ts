/** From a provider's export to a backfill that books it; or, as a dry run, only to a report. */
import type { Readable } from "node:stream";
import type { Provider } from "../../providers/provider.js";
import type { ExportReport } from "../../schemas/http/manage.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import {
  type Backfill,
  beginExport,
  discardExport,
  discardOldExports,
  prepareExport,
} from "./backfills.js";
import { readExport } from "./export-file.js";
import { type ExportLine, keepLines, ExportRefused } from "./export-lines.js";
import { hadIntegration, type Integration, mirrorsAt } from "../integrations.js";

interface Stores {
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly providers: ReadonlyMap<string, Provider>;
}

interface Export {
  readonly integration: Pick<Integration, "id" | "workspace" | "environment">;
  readonly provider: Provider;
  readonly files: Iterable<() => Readable>;
  /** Null: a dry run. Else since when the files have every purchase. */
  readonly from: Date | null;
}

export interface TakenExport {
  readonly report: ExportReport;
  /** Null when nothing is booked: in a dry run, or while another backfill of it runs. */
  readonly backfill: Backfill | null;
}

/** @throws ExportRefused */
export async function takeExport(
  stores: Stores,
  { integration, provider, files, from }: Export,
): Promise<TakenExport> {
  const { postgres, providers } = stores;
  const { environment, workspace } = integration;
  const looking = { hadIntegration: hadIntegration(postgres), providers };
  const isMirrored = mirrorsAt(looking, { workspace, environment }, Date.now());
  const given = { provider, environment, isMirrored };
  const list = provider.historyExport?.name ?? "";
  if (from === null) {
    const { report } = await readExport(files, { ...given, keep: null });
    return { report, backfill: null };
  }
  await discardOldExports(postgres, integration.id, new Date());
  const named = { workspace, integration: integration.id, from, list };
  const id = await prepareExport(postgres, named, new Date());
  const keep = (lines: readonly ExportLine[]) => keepLines(stores, id, lines);
  let backfill: Backfill | null = null;
  try {
    const { report, asOf } = await readExport(files, { ...given, keep });
    if (asOf === null) throw new ExportRefused("No line of it can be booked.");
    backfill = await beginExport(postgres, id, new Date(asOf), new Date());
    return { report, backfill };
  } finally {
    if (backfill === null) await discardExport(postgres, id);
  }
}
