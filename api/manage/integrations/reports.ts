/** Stores' reports: uploaded, fetched, listed, deleted, and beside what is booked. */
import type { Context } from "koa";
import { limits } from "../../../config.js";
import { readBytes, requireContentType } from "../../../http/body.js";
import { Room } from "../../../http/in-flight-quota.js";
import { refuseParameters } from "../../../http/query.js";
import type { Provider } from "../../../providers/provider.js";
import type { ReportSum, StoreReport } from "../../../providers/reports/report.js";
import { conflict, notFound, unprocessable } from "../../../schemas/http/errors.js";
import {
  type CheckedReport,
  type ComparedReport,
  type ReportFetchView,
  reportPath,
} from "../../../schemas/http/reports.js";
import { knownExponentOf } from "../../../schemas/money/currencies.js";
import { toJsonMinor } from "../../../schemas/money/money.js";
import type { Service } from "../../../service.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import { askReportFetch, findReportFetch } from "../../../workspaces/history/report-fetches.js";
import { ReportRefused } from "../../../workspaces/history/report-file.js";
import {
  bookedSums,
  deleteReport,
  findReport,
  keepReport,
  type KeptReport,
  type ListedReport,
  listReports,
  readReport,
} from "../../../workspaces/history/reports.js";
import type { Workspace } from "../../../workspaces/workspaces.js";
import type { Calls } from "../calls.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/:integration/reports";
/** What browsers and curl call such files. */
const types = [
  "text/csv",
  "text/tab-separated-values",
  "text/plain",
  "application/gzip",
  "application/x-gzip",
  "application/zip",
] as const;
/** Of all workspaces, by this process; of each workspace one. */
const filesAtOnceMax = 4;

export function reportRoutes(
  service: Service,
  calls: Calls<Workspace>,
  providers: ReadonlyMap<string, Provider>,
): void {
  const { postgres } = service;
  const room = new Room({ all: filesAtOnceMax, perWorkspace: 1 }, () =>
    conflict("report_running", "Another report is being read; send it again in a moment."),
  );

  const checked = { right: "manage", readsBody: true } as const;
  calls.answer("POST", `${path}/check`, checked, async (ctx, workspace) => ({
    status: "success",
    data: checkedView((await take(ctx, workspace)).report),
  }));

  const kept = { ...checked, action: "report.uploaded", status: 201 } as const;
  calls.answer("POST", path, kept, async (ctx, workspace) => {
    const { id, report } = await take(ctx, workspace);
    await keepReport(postgres, id, report, "file", new Date());
    return { status: "success", data: checkedView(report) };
  });

  calls.get(path, "look", async (ctx, workspace) => {
    const { id } = await integrationOf(ctx, service, workspace);
    return (await listReports(postgres, id)).map((report) => ({
      ...keptView(report),
      sums: sumsView(report.sums),
      proceeds: proceedsView(report),
    }));
  });

  const started = { right: "manage", action: "report_fetch.started", status: 202 } as const;
  calls.write("POST", `${path}/fetch`, started, async (ctx, workspace) => {
    const integration = await integrationOf(ctx, service, workspace);
    if (!(await isFetched(integration))) {
      const message = `The integration has no credentials for reports of ${integration.provider}.`;
      throw unprocessable("report_fetch_unsupported", message);
    }
    await askReportFetch(postgres, integration.id, new Date());
    return fetchView(integration);
  });

  calls.get(`${path}/fetch`, "look", async (ctx, workspace) =>
    fetchView(await integrationOf(ctx, service, workspace)),
  );

  const one = `${path}/:kind/:month`;
  const deleted = { right: "manage", action: "report.deleted" } as const;
  calls.write("DELETE", one, deleted, async (ctx, workspace) => {
    const { id } = await integrationOf(ctx, service, workspace);
    const { which, found } = await reportOf(ctx, id);
    await deleteReport(postgres, id, which);
    return keptView(found);
  });

  calls.get(one, "look", async (ctx, workspace) => {
    const integration = await integrationOf(ctx, service, workspace);
    const { found } = await reportOf(ctx, integration.id);
    const of = { ...integration, workspace: workspace.id };
    return {
      ...keptView(found),
      proceeds: proceedsView(found),
      rows: comparedRows(found.sums, await bookedSums(service, of, found)),
    };
  });

  /** @throws ApiError 404 */
  async function reportOf(ctx: Context, integration: string) {
    const { data: which } = reportPath.safeParse(ctx["params"]);
    const found = which === undefined ? null : await findReport(postgres, integration, which);
    if (which !== undefined && found !== null) return { which, found };
    throw notFound("report_unknown", "There is no such report.");
  }

  async function isFetched({ id, provider }: IntegrationRecord): Promise<boolean> {
    const [credentials] = (await service.integrations.byId(id))?.credentials ?? [];
    const { api } = providers.get(provider)?.fetchedReports ?? {};
    return credentials !== undefined && api?.allowsCalls(credentials) === true;
  }

  async function fetchView(integration: IntegrationRecord): Promise<ReportFetchView> {
    const { fetchedAt, ...found } = await findReportFetch(postgres, integration.id);
    return {
      ...found,
      fetched_at: fetchedAt?.toISOString() ?? null,
      is_possible: await isFetched(integration),
    };
  }

  async function take(ctx: Context, workspace: Workspace) {
    refuseParameters(ctx);
    const { id, provider: token } = await integrationOf(ctx, service, workspace);
    const provider = providers.get(token);
    if (provider?.reports === undefined) {
      throw unprocessable("reports_unsupported", `${token} has no reports that can be read.`);
    }
    requireContentType(ctx, ...types);
    const leave = room.enter(workspace.id, 1);
    try {
      const bytes = await readBytes(ctx, limits.batchBytesMax);
      const integration = await service.integrations.byId(id);
      if (integration === null) throw notFound("integration_unknown", "It was deleted meanwhile.");
      return { id, report: await readReport(bytes, provider, integration) };
    } catch (error) {
      if (!(error instanceof ReportRefused)) throw error;
      throw unprocessable("report_unreadable", error.message);
    } finally {
      leave();
    }
  }
}

function checkedView(report: StoreReport): CheckedReport {
  const sums = new Map<string, { paid: bigint; refunded: bigint }>();
  for (const { currency, paid, refunded } of report.sums) {
    const known = sums.get(currency) ?? { paid: 0n, refunded: 0n };
    sums.set(currency, { paid: known.paid + paid, refunded: known.refunded + refunded });
  }
  const { kind, month, lines, leftOut } = report;
  return {
    kind,
    month,
    from: new Date(report.from).toISOString(),
    to: new Date(report.to).toISOString(),
    lines,
    sums: sumsView(Array.from(sums, ([currency, sum]) => ({ currency, ...sum }))),
    proceeds: proceedsView(report),
    left_out: [...leftOut],
  };
}

function sumsView(sums: ListedReport["sums"]): CheckedReport["sums"] {
  return sums.map(({ currency, paid, refunded }) => ({
    currency,
    exponent: knownExponentOf(currency),
    paid_minor: toJsonMinor(paid),
    refunded_minor: toJsonMinor(refunded),
  }));
}

function proceedsView({ proceeds }: Pick<StoreReport, "proceeds">): CheckedReport["proceeds"] {
  return proceeds.map(({ currency, amount }) => ({
    currency,
    exponent: knownExponentOf(currency),
    amount_minor: toJsonMinor(amount),
  }));
}

function keptView({ kind, month, source, from, to, lines, uploadedAt }: KeptReport) {
  return {
    kind,
    month,
    source,
    from: from.toISOString(),
    to: to.toISOString(),
    lines,
    uploaded_at: uploadedAt.toISOString(),
  };
}

function comparedRows(
  reported: readonly ReportSum[],
  booked: readonly ReportSum[],
): ComparedReport["rows"] {
  const nameOf = ({ product, currency }: ReportSum) => JSON.stringify([product, currency]);
  const ours = new Map(booked.map((sum) => [nameOf(sum), sum]));
  const theirs = new Map(reported.map((sum) => [nameOf(sum), sum]));
  const rows = [...new Map([...ours, ...theirs])].map(([name, { product, currency }]) => {
    const nothing = { product, currency, paid: 0n, refunded: 0n };
    const [their, our] = [theirs.get(name) ?? nothing, ours.get(name) ?? nothing];
    return {
      product,
      currency,
      exponent: knownExponentOf(currency),
      reported_paid_minor: toJsonMinor(their.paid),
      reported_refunded_minor: toJsonMinor(their.refunded),
      booked_paid_minor: toJsonMinor(our.paid),
      booked_refunded_minor: toJsonMinor(our.refunded),
      difference_minor: toJsonMinor(their.paid - their.refunded - our.paid + our.refunded),
    };
  });
  const apart = (row: (typeof rows)[number]) => Math.abs(row.difference_minor);
  return rows.sort(
    (one, other) => apart(other) - apart(one) || (one.product < other.product ? -1 : 1),
  );
}
