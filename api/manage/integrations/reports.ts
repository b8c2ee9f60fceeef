/** Stores' reports: uploaded, listed, and beside what is booked. */
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
  type KeptReportView,
  reportPath,
} from "../../../schemas/http/reports.js";
import { knownExponentOf } from "../../../schemas/money/currencies.js";
import { toJsonMinor } from "../../../schemas/money/money.js";
import type { Service } from "../../../service.js";
import { ReportRefused } from "../../../workspaces/history/report-file.js";
import {
  bookedSums,
  findReport,
  keepReport,
  type KeptReport,
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
    await keepReport(postgres, id, report, new Date());
    return { status: "success", data: checkedView(report) };
  });

  calls.get(path, "look", async (ctx, workspace) => {
    const { id } = await integrationOf(ctx, service, workspace);
    return (await listReports(postgres, id)).map(keptView);
  });

  calls.get(`${path}/:kind/:month`, "look", async (ctx, workspace) => {
    const integration = await integrationOf(ctx, service, workspace);
    const which = reportPath.safeParse(ctx["params"]);
    const found = which.success ? await findReport(postgres, integration.id, which.data) : null;
    if (found === null) throw notFound("report_unknown", "No such report was uploaded.");
    const of = { ...integration, workspace: workspace.id };
    return {
      ...keptView(found),
      proceeds: proceedsView(found),
      rows: comparedRows(found.sums, await bookedSums(service, of, found)),
    };
  });

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
    sums: Array.from(sums, ([currency, { paid, refunded }]) => ({
      currency,
      exponent: knownExponentOf(currency),
      paid_minor: toJsonMinor(paid),
      refunded_minor: toJsonMinor(refunded),
    })),
    proceeds: proceedsView(report),
    left_out: [...leftOut],
  };
}

function proceedsView({ proceeds }: Pick<StoreReport, "proceeds">): CheckedReport["proceeds"] {
  return proceeds.map(({ currency, amount }) => ({
    currency,
    exponent: knownExponentOf(currency),
    amount_minor: toJsonMinor(amount),
  }));
}

function keptView({ kind, month, from, to, lines, uploadedAt }: KeptReport): KeptReportView {
  return {
    kind,
    month,
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
