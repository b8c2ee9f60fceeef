import { limits } from "../../../config.js";
import { unprocessable } from "../../../schemas/http/errors.js";
import {
  newReconciliation,
  type ReconciliationView,
  reconciliation,
  reconciliationQuery,
} from "../../../schemas/http/manage.js";
import { scorePct } from "../../../schemas/reconciliation.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import {
  askReconciliations,
  listReconciliations,
} from "../../../workspaces/history/reconciliations.js";
import { monthNumber, monthText } from "../../../schemas/months.js";
import { type Manage, ofWorkspace } from "../calls.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/reconciliation";
const monthsByDefault = 12;
/** True of every provider: nothing is booked of them. */
const neverCompared = "Payouts are opened, not compared: nothing is booked of them.";

/** The role `processors` compares. */
export const reconciliationRoutes = [
  ofWorkspace.post(path, "Compare months with the provider's list", {
    right: "manage",
    action: "reconciliation.started",
    body: newReconciliation,
    answer: reconciliation,
    status: 202,
    find: integrationOf,
    async run({ found: integration, body, ...api }) {
      const { notReconciled } = api.providers.get(integration.provider) ?? {};
      if (notReconciled !== undefined) {
        throw unprocessable("reconciliation_unsupported", notReconciled);
      }
      const now = new Date();
      const months = givenMonths(body, now);
      await askReconciliations(api.postgres, { integration: integration.id, months }, now);
      return viewOf(api, integration, months);
    },
  }),
  ofWorkspace.get(path, "What is booked beside what the provider lists", {
    right: "look",
    query: reconciliationQuery,
    answer: reconciliation,
    errors: [422],
    find: integrationOf,
    run: ({ found, query, ...api }) => viewOf(api, found, givenMonths(query, new Date())),
  }),
];

async function viewOf(
  { postgres, providers }: Pick<Manage, "postgres" | "providers">,
  { id, provider }: IntegrationRecord,
  months: readonly string[],
): Promise<ReconciliationView> {
  const [from = "", to = ""] = [months[0], months.at(-1)];
  const rows = await listReconciliations(postgres, { integration: id, from, to });
  const known = new Map(rows.map((row) => [row.month, row]));
  const reports = rows.flatMap(({ report }) => report ?? []);
  const sum = (name: "agreed_minor" | "compared_minor"): bigint =>
    reports.reduce((all, { [name]: more }) => all + BigInt(more), 0n);
  return {
    from,
    to,
    score_pct: scorePct(sum("agreed_minor"), sum("compared_minor")),
    months_compared: reports.length,
    months: months.map((month) => {
      const { state = "none", problem = null, comparedAt, report = null } = known.get(month) ?? {};
      return { month, state, problem, compared_at: comparedAt?.toISOString() ?? null, report };
    }),
    not_compared: [neverCompared, ...(providers.get(provider)?.backfill?.notCompared ?? [])],
  };
}

/** Both inclusive. @throws ApiError 422 */
function givenMonths(
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date,
): string[] {
  const last = monthNumber(now.getTime());
  const numberOf = (month: string): number => monthNumber(Date.parse(`${month}-01T00:00:00Z`));
  const to = given.to === undefined ? last : numberOf(given.to);
  const from = given.from === undefined ? to - (monthsByDefault - 1) : numberOf(given.from);
  const first = monthNumber(limits.eventEarliest);
  if (to > last || from < first || from > to || to - from >= limits.reconciledMonthsMax) {
    const message =
      `from and to must be months from ${monthText(first)} to ${monthText(last)}, in this ` +
      `order, and at most ${limits.reconciledMonthsMax} of them.`;
    throw unprocessable("from_out_of_range", message, "from");
  }
  return Array.from({ length: to - from + 1 }, (_, place) => monthText(from + place));
}
