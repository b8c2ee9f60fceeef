/** Payouts to the bank, read from the provider's API on demand; nothing is kept. */
import { limits } from "../../../config.js";
import type { PayoutLine } from "../../../providers/payouts.js";
import { chunksBySize } from "../../../runtime/chunk.js";
import { notFound, unprocessable } from "../../../schemas/http/errors.js";
import {
  type OpenedPayoutView,
  type PayoutsView,
  openedPayout,
  payouts as payoutsShape,
  payoutsQuery,
} from "../../../schemas/http/payouts.js";
import { transactionId } from "../../../schemas/ids.js";
import { utcDay } from "../../../schemas/money/rates.js";
import type { Service } from "../../../service.js";
import type { Integration } from "../../../workspaces/integrations.js";
import { ofWorkspace } from "../calls.js";
import { openedPayoutView, payoutView } from "./payout-view.js";
import { reading } from "./read-payouts.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/payouts";
const dayMs = 24 * 60 * 60 * 1000;
const daysByDefault = 90;
/** Payouts that are under way arrive within this time. */
const daysAhead = 31;
const idsAtOnce = 1_000;

export const payoutRoutes = [
  ofWorkspace.get(path, "Payouts to the bank", {
    right: "look",
    query: payoutsQuery,
    answer: payoutsShape,
    errors: [422],
    find: integrationOf,
    async run({ found, query, ...service }) {
      const days = givenDays(query, Date.now());
      return reading(service, found.id, async (payouts, ask): Promise<PayoutsView> => {
        const span = { from: Date.parse(days.from), to: Date.parse(days.to) + dayMs - 1 };
        const { rows, isWhole } = await taken(payouts.list(span, ask), limits.payoutsListedMax);
        return {
          ...days,
          dated_by: payouts.dated,
          payouts: rows.map(payoutView),
          left_out: !isWhole,
          not_shown: [...payouts.notShown],
        };
      });
    },
  }),
  ofWorkspace.get(`${path}/{payout}`, "What a payout is made of, to the cent", {
    right: "look",
    answer: openedPayout,
    errors: [422],
    find: integrationOf,
    run: ({ found, ctx, ...service }) =>
      reading(service, found.id, async (payouts, ask, given): Promise<OpenedPayoutView> => {
        const { integration, making } = given;
        const opened = await payouts.open(String(ctx.params.payout), ask, making);
        if (opened === null) {
          throw notFound("payout_unknown", "The provider has no such payout.");
        }
        const { payout, problem } = opened;
        const { rows, isWhole } = await taken(opened.lines, limits.payoutLinesMax);
        const transactionOf = await bookedOf(service, integration, rows);
        return {
          ...payoutView(payout),
          ...openedPayoutView(payout, rows, transactionOf),
          left_out: !isWhole,
          problem,
        };
      }),
  }),
];

/** Both inclusive. @throws ApiError 422 */
function givenDays(
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): { readonly from: string; readonly to: string } {
  const to = given.to ?? utcDay(now + daysAhead * dayMs);
  const before = given.to === undefined ? now : Date.parse(to);
  const from = given.from ?? utcDay(before - daysByDefault * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1 || days > limits.payoutDaysMax) {
    const message = `from must be before to, and both at most ${limits.payoutDaysMax} days apart.`;
    throw unprocessable("from_out_of_range", message, "from");
  }
  return { from, to };
}

/** Asks for no more pages than it takes. */
async function taken<T>(
  all: AsyncIterable<T>,
  max: number,
): Promise<{ readonly rows: readonly T[]; readonly isWhole: boolean }> {
  const rows: T[] = [];
  for await (const one of all) {
    if (rows.length === max) return { rows, isWhole: false };
    rows.push(one);
  }
  return { rows, isWhole: true };
}

/** Which payments are booked, by the ids that their transactions have. */
async function bookedOf(
  { clickhouse }: Pick<Service, "clickhouse">,
  { workspace, environment, provider }: Integration,
  lines: readonly PayoutLine[],
): Promise<(payment: string) => string | null> {
  const idOf = (payment: string) => transactionId(workspace, environment, provider, payment);
  const ids = [...new Set(lines.flatMap(({ payment }) => (payment === null ? [] : idOf(payment))))];
  const booked = new Set<string>();
  for (const some of chunksBySize(ids, idsAtOnce, () => 1)) {
    const rows = await clickhouse.rows<{ id: string }>(
      `SELECT DISTINCT id FROM transactions
       WHERE workspace = {workspace:String} AND environment = {environment:String}
         AND id IN {ids:Array(String)}`,
      { workspace, environment, ids: some },
    );
    for (const { id } of rows) booked.add(id);
  }
  return (payment) => (booked.has(idOf(payment)) ? idOf(payment) : null);
}
