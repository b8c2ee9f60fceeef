/** Figures as Paddle's own dashboard has them: its metrics, by day in one currency. */
import { z } from "zod";
import { utcDay } from "../../../schemas/money/rates.js";
import type { OwnFigure, Span } from "../../backfill.js";
import { field } from "../event.js";

const dayMs = 24 * 60 * 60 * 1000;

const metric = z.object({
  data: z.object({
    /** Of amounts; counts have none. */
    currency_code: field.currency.nullish(),
    timeseries: z.array(
      z.union([
        z.object({ timestamp: field.time, amount: field.amount }),
        z
          .object({ timestamp: field.time, count: z.int() })
          .transform(({ timestamp, count }) => ({ timestamp, amount: BigInt(count) })),
      ]),
    ),
    updated_at: field.time,
  }),
});

export const paddleFigures: readonly OwnFigure[] = [
  figureOf("mrr", {
    path: "/metrics/monthly-recurring-revenue",
    of: (days) => days.at(-1) ?? 0n,
    why:
      "Paddle says that it counts prices before their discounts, as of 06:00 UTC, and converts " +
      "them at the rate of each transaction; here discounts that recur are taken off, at the end " +
      "of the day.",
  }),
  figureOf("revenue", {
    path: "/metrics/revenue",
    of: sumOf,
    why:
      "Paddle converts what is left after tax and fees at today's rate; here each payment has " +
      "the rate of its own day, and a fee that is not reported yet is 0.",
  }),
  figureOf("refunds", {
    path: "/metrics/refunds",
    of: sumOf,
    why:
      "Paddle converts refunds at today's rate; here each has the rate of its sale, and counts " +
      "when it was approved.",
  }),
  figureOf("chargebacks", {
    path: "/metrics/chargebacks",
    of: sumOf,
    isCount: true,
    why: "Paddle counts chargebacks as it received them; here they count once they take money.",
  }),
];

function sumOf(days: readonly bigint[]): bigint {
  return days.reduce((sum, amount) => sum + amount, 0n);
}

function figureOf(
  figure: OwnFigure["figure"],
  given: {
    readonly path: string;
    readonly of: (days: readonly bigint[]) => bigint;
    readonly isCount?: true;
    readonly why: string;
  },
): OwnFigure {
  return {
    figure,
    name: "its own figures (permission metrics.read)",
    path: (days: Span) => `${given.path}?from=${utcDay(days.from)}&to=${utcDay(days.to)}`,
    read(answer) {
      const { data } = metric.safeParse(answer);
      if (data === undefined) return null;
      const { currency_code: currency = null, timeseries, updated_at: updatedAt } = data.data;
      if ((currency === null) !== (given.isCount === true)) return null;
      // A day that was not over when it was worked out still changes.
      const whole = timeseries.filter(({ timestamp }) => timestamp + dayMs <= updatedAt);
      const last = whole.at(-1);
      const amount = given.of(whole.map(({ amount: ofDay }) => ofDay));
      return { currency, amount, through: last === undefined ? null : last.timestamp + dayMs };
    },
    why: given.why,
  };
}
