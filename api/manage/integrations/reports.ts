/** Stores' reports: uploaded, fetched, listed, deleted, and beside what is booked. */
import { z } from "zod";
import { limits } from "../../../config.js";
import { readBytes, requireContentType } from "../../../http/body.js";
import { Room } from "../../../http/in-flight-quota.js";
import type { ReportSum, StoreReport } from "../../../providers/reports/report.js";
import { conflict, notFound, unprocessable } from "../../../schemas/http/errors.js";
import {
  type CheckedReport,
  type ComparedReport,
  type ReportFetchView,
  checkedReport,
  comparedReport,
  deletedReport,
  keptReport,
  reportFetch,
  reportPath,
} from "../../../schemas/http/reports.js";
import { knownExponentOf, toJsonMinor } from "../../../schemas/money/money.js";
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
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import { type Call, ofWorkspace } from "../calls.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/reports";
const one = `${path}/{kind}/{month}`;
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

const room = new Room({ all: filesAtOnceMax, perWorkspace: 1 }, () =>
  conflict("report_running", "Another report is being read; send it again in a moment."),
);

const upload = {
  right: "manage",
  body: z.string().describe("As the store has it: text, gzip or zip, of up to 16 MiB"),
  bodyTypes: ["text/csv", "text/tab-separated-values", "application/gzip", "application/zip"],
  errors: [409],
  answer: checkedReport,
  find: integrationOf,
} as const;

export const reportRoutes = [
  ofWorkspace.post(`${path}/check`, "What a store's report of a month says", {
    ...upload,
    status: 200,
    run: async (call) => checkedView(await take(call, call.found)),
  }),
  ofWorkspace.post(path, "Keep a store's report of a month, to compare it with what is booked", {
    ...upload,
    action: "report.uploaded",
    async run(call) {
      const report = await take(call, call.found);
      await keepReport(call.postgres, call.found.id, report, "file", new Date());
      return checkedView(report);
    },
  }),
  ofWorkspace.get(path, "The reports that were uploaded or fetched, the newest month first", {
    right: "look",
    answer: z.array(keptReport),
    find: integrationOf,
    run: async ({ postgres, found }) =>
      (await listReports(postgres, found.id)).map((report) => ({
        ...keptView(report),
        sums: sumsView(report.sums),
        proceeds: proceedsView(report),
      })),
  }),
  ofWorkspace.post(
    `${path}/fetch`,
    "Fetch the missing reports of the last twelve months from the store",
    {
      right: "manage",
      action: "report_fetch.started",
      answer: reportFetch,
      status: 202,
      errors: [422],
      find: integrationOf,
      async run(call) {
        const { postgres, found } = call;
        if (!(await isFetched(call, found))) {
          const message = `The integration has no credentials for reports of ${found.provider}.`;
          throw unprocessable("report_fetch_unsupported", message);
        }
        await askReportFetch(postgres, found.id, new Date());
        return fetchView(call, found);
      },
    },
  ),
  ofWorkspace.get(`${path}/fetch`, "How the last fetch of reports went", {
    right: "look",
    answer: reportFetch,
    find: integrationOf,
    run: (call) => fetchView(call, call.found),
  }),
  ofWorkspace.delete(one, "Delete a report", {
    right: "manage",
    action: "report.deleted",
    answer: deletedReport,
    find: reportOf,
    async run({ postgres, found: { integration, which, report } }) {
      await deleteReport(postgres, integration.id, which);
      return keptView(report);
    },
  }),
  ofWorkspace.get(one, "A report beside what is booked, by product and currency", {
    right: "look",
    answer: comparedReport,
    find: reportOf,
    async run({ of, found: { integration, report }, ...service }) {
      const booked = await bookedSums(service, { ...integration, workspace: of.id }, report);
      return {
        ...keptView(report),
        proceeds: proceedsView(report),
        rows: comparedRows(report.sums, booked),
      };
    },
  }),
];

/** @throws ApiError 404 */
async function reportOf(call: Call) {
  const integration = await integrationOf(call);
  const { data: which } = reportPath.safeParse(call.ctx["params"]);
  const report = which && (await findReport(call.postgres, integration.id, which));
  if (which && report) return { integration, which, report };
  throw notFound("report_unknown", "There is no such report.");
}

async function isFetched(
  { integrations, providers }: Call,
  { id, provider }: IntegrationRecord,
): Promise<boolean> {
  const [credentials] = (await integrations.byId(id))?.credentials ?? [];
  const { api } = providers.get(provider)?.fetchedReports ?? {};
  return credentials !== undefined && api?.allowsCalls(credentials) === true;
}

async function fetchView(call: Call, integration: IntegrationRecord): Promise<ReportFetchView> {
  const { fetchedAt, ...found } = await findReportFetch(call.postgres, integration.id);
  return {
    ...found,
    fetched_at: fetchedAt?.toISOString() ?? null,
    is_possible: await isFetched(call, integration),
  };
}

async function take(call: Call, { id, provider: token }: IntegrationRecord) {
  const { ctx, of, integrations, providers } = call;
  const provider = providers.get(token);
  if (provider?.reports === undefined) {
    throw unprocessable("reports_unsupported", `${token} has no reports that can be read.`);
  }
  requireContentType(ctx, ...types);
  const leave = room.enter(of.id, 1);
  try {
    const bytes = await readBytes(ctx, limits.batchBytesMax);
    const integration = await integrations.byId(id);
    if (integration === null) throw notFound("integration_unknown", "It was deleted meanwhile.");
    return await readReport(bytes, provider, integration);
  } catch (error) {
    if (!(error instanceof ReportRefused)) throw error;
    throw unprocessable("report_unreadable", error.message);
  } finally {
    leave();
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
    (first, other) => apart(other) - apart(first) || (first.product < other.product ? -1 : 1),
  );
}
