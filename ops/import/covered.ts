/**
 * Months in which a provider's own events are booked already: what an export says of them may be
 * the same payments under other ids, and would count twice.
 */
import { z } from "zod";
import type { Month } from "../../schemas/months.js";
import { ImportRefused } from "./refused.js";
import type { Target } from "./send.js";

const answer = z.object({
  data: z.object({
    revenue: z.array(z.object({ from: z.string(), provider: z.string(), sales: z.int() })),
  }),
});
const answerMsMax = 60_000;
/** Of one answer of the series. */
const monthsMax = 120;

/** @param months in order of time @returns `2026-03: 12 payments of stripe` */
export async function coveredMonths(
  { url, key }: Target,
  months: readonly Month[],
): Promise<string[]> {
  const covered: string[] = [];
  for (let at = 0; at < months.length; at += monthsMax) {
    const part = months.slice(at, at + monthsMax);
    const from = `${part[0]?.month}-01`;
    const end = new Date(`${part.at(-1)?.month}-01T00:00:00Z`);
    end.setUTCMonth(end.getUTCMonth() + 1);
    const to = end.toISOString().slice(0, 10);
    const query = { from, to, interval: "month", group_by: "provider", provider: "-custom" };
    const path = `/v1/metrics/revenue?${new URLSearchParams(query).toString()}`;
    for (const row of await revenueOf(`${url}${path}`, key)) {
      const month = row.from.slice(0, 7);
      const isAsked = part.some((one) => one.month === month);
      if (isAsked && row.sales > 0)
        covered.push(`${month}: ${row.sales} payments of ${row.provider}`);
    }
  }
  return covered;
}

/** @throws ImportRefused */
async function revenueOf(url: string, key: string) {
  try {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(answerMsMax) });
    const parsed = answer.safeParse(await response.json());
    if (parsed.success) return parsed.data.data.revenue;
    throw new ImportRefused(`What is booked already cannot be read: status ${response.status}.`);
  } catch (error) {
    if (error instanceof ImportRefused || !(error instanceof Error)) throw error;
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    throw new ImportRefused(`What is booked already cannot be read: ${why}`, { cause: error });
  }
}
