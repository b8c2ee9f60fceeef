/** Payouts to the bank, read from the provider's API on demand; nothing is kept. */
import { limits } from "../../../config.js";
import { type Payout, type PayoutLine, payoutLineKinds } from "../../../providers/payouts.js";
import { chunksBySize } from "../../../runtime/lists.js";
import { notFound, unprocessable } from "../../../schemas/http/errors.js";
import {
  openedPayout,
  type OpenedPayoutView,
  type PayoutLineView,
  payouts as payoutsShape,
  payoutsQuery,
  type PayoutsView,
} from "../../../schemas/http/payouts.js";
import { transactionId } from "../../../schemas/ids.js";
import { utcDay } from "../../../schemas/money/rates.js";
import type { Service } from "../../../service.js";
import type { Integration } from "../../../workspaces/integrations.js";
import { ofWorkspace } from "../calls.js";
import { reading } from "./read-payouts.js";
import { integrationOf } from "./routes.js";
import { knownExponentOf, toJsonMinor } from "../../../schemas/money/money.js";

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

function payoutView(payout: Payout): PayoutsView["payouts"][number] {
  const { id, status, createdAt, arrivesAt, currency, amount } = payout;
  return {
    id,
    status,
    created_at: isoText(createdAt),
    arrives_at: arrivesAt === null ? null : isoText(arrivesAt),
    ...moneyOf(currency),
    amount_minor: toJsonMinor(amount),
  };
}

/**
 * What it consists of, to the smallest unit: what is unexplained has a line of its own.
 * @param transactionOf the booked transaction of a payment; null: there is none
 */
function openedPayoutView(
  payout: Payout,
  lines: readonly PayoutLine[],
  transactionOf: (payment: string) => string | null,
): Pick<OpenedPayoutView, "sums" | "lines"> {
  const { currency, amount } = payout;
  const own = lines.filter((line) => line.currency === currency);
  const sums = sumsOf(own);
  const explained = sums.reduce((sum, one) => sum + one.amount, 0n);
  const remainder = amount - explained;
  if (remainder !== 0n) sums.push({ kind: "remainder", count: 1, amount: remainder });
  return {
    sums: sums.map(({ kind, count, amount: sum }) => ({
      kind,
      count,
      amount_minor: toJsonMinor(sum),
    })),
    lines: [
      ...lines.map((line) => lineView(line, transactionOf)),
      ...(remainder === 0n ? [] : [remainderView(currency, remainder)]),
    ],
  };
}

interface Sum {
  readonly kind: PayoutLineView["kind"];
  count: number;
  amount: bigint;
}

/** A fee that was withheld from a payment counts with those that were charged separately. */
function sumsOf(lines: readonly PayoutLine[]): Sum[] {
  const sums = payoutLineKinds.map((kind): Sum => ({ kind, count: 0, amount: 0n }));
  const add = (kind: PayoutLine["kind"], amount: bigint): void => {
    const sum = sums.find((one) => one.kind === kind);
    if (sum === undefined) return;
    sum.count += 1;
    sum.amount += amount;
  };
  for (const { kind, amount, fee } of lines) {
    if (amount !== 0n || fee === 0n) add(kind, amount);
    if (fee !== 0n) add("fee", -fee);
  }
  return sums.filter(({ count }) => count > 0);
}

function lineView(
  line: PayoutLine,
  transactionOf: (payment: string) => string | null,
): PayoutLineView {
  const { id, kind, what, at, payment, currency, amount, fee } = line;
  return {
    kind,
    id,
    what,
    at: isoText(at),
    payment,
    transaction: payment === null ? null : transactionOf(payment),
    ...moneyOf(currency),
    amount_minor: toJsonMinor(amount),
    fee_minor: toJsonMinor(fee),
    net_minor: toJsonMinor(amount - fee),
  };
}

function remainderView(currency: string, remainder: bigint): PayoutLineView {
  return {
    kind: "remainder",
    id: null,
    what: null,
    at: null,
    payment: null,
    transaction: null,
    ...moneyOf(currency),
    amount_minor: toJsonMinor(remainder),
    fee_minor: 0,
    net_minor: toJsonMinor(remainder),
  };
}

function moneyOf(currency: string) {
  return { currency, exponent: knownExponentOf(currency) };
}

function isoText(at: number): string {
  return new Date(at).toISOString();
}
