/**
 * Reads a store's reports of months: says what each comes to, and with `--apply` keeps them to be
 * compared with what is booked; as `POST …/reports` while the service runs.
 */
import { readFileSync, statSync } from "node:fs";
import { createProviders } from "../providers/index.js";
import type { Provider } from "../providers/provider.js";
import type { StoreReport } from "../providers/reports/report.js";
import { knownExponentOf, minorToMajor } from "../schemas/money/money.js";
import type { Service } from "../service.js";
import { ReportRefused } from "../workspaces/history/report-file.js";
import { filesIn } from "./backfill-file.js";
import { keepReport, readReport } from "../workspaces/history/reports.js";

/** Packed or not; larger ones are no report of a month. */
const fileBytesMax = 64 * 1024 * 1024;

/** @returns 0 when each is read, 1 when some are not, 2 when none can be */
export async function reports(
  service: Service,
  {
    integration: id,
    file,
    apply,
  }: Record<"integration" | "file", string> & { readonly apply: boolean },
  report: (line: string) => void,
): Promise<number> {
  const integration = await service.integrations.byId(id);
  const providers: ReadonlyMap<string, Provider> = createProviders(service.config);
  const provider = integration === null ? undefined : providers.get(integration.provider);
  if (integration === null || provider?.reports === undefined) {
    report(`There is no integration ${id} whose store has reports.`);
    return 2;
  }
  const files = filesIn(file, /\.(txt|tsv|csv|gz|zip)$/i);
  if (files.length === 0) {
    report(`${file} has no report: ${provider.reports.files}.`);
    return 2;
  }
  let wrong = 0;
  for (const path of files) {
    try {
      if (statSync(path).size > fileBytesMax) throw new ReportRefused("The file is too large.");
      const read = await readReport(readFileSync(path), provider, integration);
      for (const line of linesOf(path, read)) report(line);
      if (apply) await keepReport(service.postgres, id, read, "file", new Date());
    } catch (error) {
      if (!(error instanceof ReportRefused)) throw error;
      wrong += 1;
      report(`${path}: ${error.message}`);
    }
  }
  if (!apply) report("Nothing was kept: this was a dry run. With --apply it is.");
  if (wrong === files.length) return 2;
  return wrong > 0 ? 1 : 0;
}

function linesOf(
  path: string,
  { kind, month, lines, sums, proceeds, leftOut }: StoreReport,
): string[] {
  const major = (amount: bigint, currency: string) =>
    `${minorToMajor(amount, knownExponentOf(currency))} ${currency}`;
  return [
    `${path}: ${kind} of ${month}, ${lines} lines`,
    ...sums.map(
      ({ product, currency, paid, refunded }) =>
        `  ${JSON.stringify(product)}: ${major(paid, currency)} paid, ` +
        `${major(refunded, currency)} refunded`,
    ),
    ...proceeds.map(({ currency, amount }) => `  proceeds: ${major(amount, currency)}`),
    ...leftOut.map(({ why, lines: count }) => `  left out: ${count} lines: ${why}`),
  ];
}
