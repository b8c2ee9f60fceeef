import { limits } from "../../../config.js";
import { readJson } from "../../../http/body.js";
import { readQuery } from "../../../http/query.js";
import type { Provider } from "../../../providers/provider.js";
import { unprocessable } from "../../../schemas/http/errors.js";
import {
  newReconciliation,
  type ReconciliationView,
  reconciliationQuery,
} from "../../../schemas/http/manage.js";
import { scorePct } from "../../../schemas/reconciliation.js";
import type { Service } from "../../../service.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import {
  askReconciliations,
  listReconciliations,
} from "../../../workspaces/history/reconciliations.js";
import type { Workspace } from "../../../workspaces/workspaces.js";
import { monthNumber, monthText } from "../../../schemas/months.js";
import type { Calls } from "../calls.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/:integration/reconciliation";
const monthsByDefault = 12;
/** True of every provider: nothing is booked of them. */
const neverCompared = "Payouts are opened, not compared: nothing is booked of them.";

/** Requests and shows comparisons; the role `processors` compares. */
export function reconciliationRoutes(
  service: Service,
  calls: Calls<Workspace>,
  providers: ReadonlyMap<string, Provider>,
): void {
  const started = { right: "manage", action: "reconciliation.started", status: 202 } as const;
  calls.write("POST", path, started, async (ctx, workspace) => {
    const integration = await integrationOf(ctx, service, workspace);
    const { notReconciled } = providers.get(integration.provider) ?? {};
    if (notReconciled !== undefined) {
      throw unprocessable("reconciliation_unsupported", notReconciled);
    }
    const now = new Date();
    const months = givenMonths(readJson(ctx, newReconciliation), now);
    await askReconciliations(service.postgres, { integration: integration.id, months }, now);
    return viewOf(integration, months);
  });

  calls.answer("GET", path, { right: "look" }, async (ctx, workspace) => {
    const integration = await integrationOf(ctx, service, workspace);
    const months = givenMonths(readQuery(ctx, reconciliationQuery), new Date());
    return { status: "success", data: await viewOf(integration, months) };
  });

  async function viewOf(
    { id, provider }: IntegrationRecord,
    months: readonly string[],
  ): Promise<ReconciliationView> {
    const [from = "", to = ""] = [months[0], months.at(-1)];
    const rows = await listReconciliations(service.postgres, { integration: id, from, to });
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
        const {
          state = "none",
          problem = null,
          comparedAt,
          report = null,
        } = known.get(month) ?? {};
        return { month, state, problem, compared_at: comparedAt?.toISOString() ?? null, report };
      }),
      not_compared: [neverCompared, ...(providers.get(provider)?.backfill?.notCompared ?? [])],
    };
  }
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
