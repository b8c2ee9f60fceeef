/** What a payout consists of, to the smallest unit: what is unexplained has a line of its own. */
import { type Payout, type PayoutLine, payoutLineKinds } from "../../../providers/payouts.js";
import type {
  OpenedPayoutView,
  PayoutLineView,
  PayoutsView,
} from "../../../schemas/http/payouts.js";
import { knownExponentOf } from "../../../schemas/money/currencies.js";
import { toJsonMinor } from "../../../schemas/money/money.js";

export function payoutView(payout: Payout): PayoutsView["payouts"][number] {
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

/** @param transactionOf the booked transaction of a payment; null: there is none */
export function openedPayoutView(
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

/** What was kept back of a payment is a fee, like one that was charged separately. */
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
