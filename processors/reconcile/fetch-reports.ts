/**
 * Fetches an integration's monthly reports from its store: those of the last twelve months that are
 * missing. Each is kept at once, so that a fetch that is stopped goes on where it was.
 */
import { askFile, type Unread } from "../../providers/api/ask-json.js";
import type { FetchedReports, Provider } from "../../providers/provider.js";
import { type ReportOf, together } from "../../providers/reports/report.js";
import { withDeadline } from "../../runtime/deadline.js";
import { monthNumber, monthText } from "../../schemas/months.js";
import { NothingReported, ReportRefused } from "../../workspaces/history/report-file.js";
import { keepReport, readReport, settledReports } from "../../workspaces/history/reports.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { BackfillingService } from "../backfill/backfill.js";

/** The App Store has monthly sales of one year. */
const monthsMax = 12;
/** One file with all its tries. */
const answerMsMax = 30_000;
const fileMsMax = 90_000;

export interface Fetched {
  readonly kept: number;
  /** What could not be fetched or read; null: it is all there. */
  readonly problem: string | null;
}

interface Given {
  readonly provider: Provider;
  readonly fetched: FetchedReports<unknown>;
  readonly integration: Integration;
}

class NotHad extends Error {
  constructor(readonly unread: Unread) {
    super(unread.problem);
  }
}

export async function fetchReports(
  service: BackfillingService,
  integrationId: string,
  now: Date,
): Promise<(Fetched & { readonly for: "good" }) | (Fetched & Unread)> {
  const integration = await service.integrations.byId(integrationId);
  const provider = integration && service.providers.get(integration.provider);
  const [credentials] = integration?.credentials ?? [];
  const fetched = provider?.fetchedReports;
  if (!integration || !provider || !credentials || !fetched?.api.allowsCalls(credentials)) {
    const problem = "The integration was deleted, or has no credentials for reports.";
    return { for: "good", kept: 0, problem };
  }
  const given = { provider, fetched, integration };
  const problems: string[] = [];
  let kept = 0;
  for (const kind of fetched.kinds) {
    const settled = await settledReports(service.postgres, integration.id, kind);
    try {
      for (const month of monthsBefore(now)) {
        if (settled.has(month)) continue;
        const found = await fetchOne(service, given, { kind, month });
        if (typeof found === "string") problems.push(`${nameOf({ kind, month })}: ${found}`);
        else kept += found;
      }
    } catch (error) {
      if (!(error instanceof NotHad)) throw error;
      if (error.unread.for === "now") return { ...error.unread, kept };
      // Its credentials may be good for the other kind.
      problems.push(error.message);
    }
  }
  const [first = null] = problems;
  const more = problems.length > 1 ? ` ${problems.length - 1} more could not be had or read.` : "";
  return { for: "good", kept, problem: first === null ? null : first + more };
}

/** @returns how many were kept; a text: why it could not be read. @throws NotHad */
async function fetchOne(
  { apis, postgres, stopping }: BackfillingService,
  { provider, fetched, integration }: Given,
  of: ReportOf,
): Promise<number | string> {
  const [credentials] = integration.credentials;
  // Another API than the one that is asked about events: a line of its own.
  const asker = {
    provider: { ...provider, api: fetched.api },
    integration: { id: `${integration.id} reports`, credentials },
  };
  const files = await fetched.files(of, credentials, async (path) => {
    const question = { path, answerMsMax, name: nameOf(of) };
    const asked = await withDeadline(fileMsMax, stopping, (signal) =>
      askFile(apis, asker, question, signal),
    );
    if ("problem" in asked) throw new NotHad(asked);
    return asked.bytes;
  });
  if (typeof files === "string") return files;
  try {
    const [first, ...others] = await Promise.all(
      files.map((file) => readReport(file, provider, integration)),
    );
    if (first === undefined) return 0;
    const report = others.reduce(together, first);
    if (report.kind !== of.kind || report.month !== of.month) {
      return `the store answered ${nameOf(report)}.`;
    }
    await keepReport(postgres, integration.id, report, "api", new Date());
    return 1;
  } catch (error) {
    if (error instanceof NothingReported) return 0;
    if (error instanceof ReportRefused) return error.message;
    throw error;
  }
}

function nameOf({ kind, month }: ReportOf): string {
  return `${kind.replace("_", " ")} of ${month}`;
}

/** YYYY-MM of each that is over, the newest first. */
function monthsBefore(now: Date): string[] {
  const last = monthNumber(now.getTime()) - 1;
  return Array.from({ length: monthsMax }, (_, ago) => monthText(last - ago));
}
