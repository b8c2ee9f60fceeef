/**
 * Reads an integration's history from the files of its provider's export, while the service is
 * stopped: a report, and with `--apply` a backfill as from the provider's API. Interrupted, this
 * command or the next start of the service goes on.
 */
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../config.js";
import { createProviders } from "../providers/index.js";
import type { Provider } from "../providers/provider.js";
import type { ExportReport } from "../schemas/http/manage.js";
import { utcDay } from "../schemas/money/rates.js";
import type { Service } from "../service.js";
import { canBeginAt } from "../workspaces/history/backfills.js";
import { ExportRefused } from "../workspaces/history/export-lines.js";
import { takeExport } from "../workspaces/history/take-export.js";
import { type BackfillSteps, follow } from "./backfill.js";

/**
 * @param given.from since when the files have every purchase, ms since 1970
 * @returns 0 when all of it is booked or could be, 1 when something differs or is left out, 2 when
 *   it failed
 */
export async function backfillFile(
  service: Service,
  given: {
    readonly integration: string;
    readonly from: number;
    readonly file: string;
    readonly apply: boolean;
  },
  steps: BackfillSteps,
): Promise<number> {
  const { report } = steps;
  const fail = (why: string): number => {
    report(why);
    return 2;
  };
  const integration = await service.integrations.byId(given.integration);
  const providers: ReadonlyMap<string, Provider> = createProviders(service.config);
  const provider = integration === null ? undefined : providers.get(integration.provider);
  const { historyExport } = provider ?? {};
  if (integration === null || provider === undefined || historyExport === undefined) {
    return fail(`There is no integration ${given.integration} whose history comes as a file.`);
  }
  const since = new Date(given.from);
  if (!canBeginAt(since, new Date())) {
    return fail(`--from must lie between ${utcDay(limits.eventEarliest)} and now.`);
  }
  const found = filesIn(given.file, /\.(csv|csv\.gz|parquet)$/);
  if (found.length === 0) return fail(`${given.file} has no .csv, .csv.gz or .parquet file.`);
  const files = found.map((file) => () => createReadStream(file));
  const stores = { ...service, providers };
  const from = given.apply ? since : null;
  try {
    const taken = await takeExport(stores, { integration, provider, files, from });
    reportLines(taken.report, found.length, report);
    if (from === null) {
      report("Nothing was booked: this was a dry run. With --apply it is booked.");
      return taken.report.left_out.length === 0 ? 0 : 1;
    }
    if (taken.backfill === null) {
      report("A backfill is still running: continuing it. If this is another file, give it again.");
    }
  } catch (error) {
    if (!(error instanceof ExportRefused)) throw error;
    return fail(error.message);
  }
  return follow(service, given.integration, historyExport.missing, steps);
}

/** The file itself, or all files with this ending in a folder: some providers deliver one a day. */
export function filesIn(path: string, ending: RegExp): string[] {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .sort()
    .map((name) => join(path, name));
}

function reportLines(of: ExportReport, files: number, report: (line: string) => void): void {
  const { lines, purchases, first, as_of: asOf, sums, left_out: leftOut } = of;
  const span = first === null ? "" : `, ${first} to ${asOf}`;
  report(`${lines} lines of ${files} files, ${purchases} purchases${span}:`);
  for (const { currency, payments, amount, refunds, refunded } of sums) {
    report(`  ${payments} payments, ${amount} ${currency}; ${refunds} refunds, ${refunded}`);
  }
  for (const { why, lines: count, first_line: line } of leftOut) {
    report(`  left out: ${count} lines, the first is line ${line} of its file: ${why}`);
  }
}
