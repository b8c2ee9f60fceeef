/** The figures of a period, as the interface answers them, each with its frozen link. */
import { limits } from "../../config.js";
import type { Frequency } from "../../schemas/http/outbound/digests.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { Service } from "../../service.js";
import { periodStart } from "../../workspaces/digests.js";
import type { Access } from "../../workspaces/keys.js";
import { segmentNames } from "../../workspaces/segments.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { proofOf } from "../reading/proof-links.js";
import { movementsAnswer } from "../movement-series/schema.js";
import { dayMs } from "../reading/calendar.js";
import { type Reads, askInProcess, ownAccess } from "../reading/in-process.js";
import { clocksOf, completeText } from "../reading/reading.js";
import { revenueAnswer } from "../revenue/schema.js";
import { pinnedText } from "../segments/resolve.js";
import { summaryAnswer } from "../summary/schema.js";
import { whatChangedAnswer } from "../what-changed/schema.js";
import type { Column } from "./picture.js";
import type { DigestFigures } from "./sentences.js";

export interface FrozenFigures extends DigestFigures {
  readonly workspace: string;
  /** Its name; null: all. */
  readonly segment: string | null;
  readonly frequency: Frequency;
  /** Its first day and the last, as YYYY-MM-DD. */
  readonly days: { readonly first: string; readonly last: string };
  /** The two clocks of the figures; MRR is that of the period's end. */
  readonly at: string;
  readonly knownAt: string;
  /** Of the period and the days before it. */
  readonly columns: readonly Column[];
  readonly links: Readonly<Record<"mrr" | "whatChanged" | "revenue", string>>;
}

/** Not everything received in the period is booked yet. */
export class PeriodIncomplete extends Error {
  override readonly name = "PeriodIncomplete";
}

/**
 * @param end ms since 1970: the first moment after the period
 * @throws PeriodIncomplete
 */
export async function readFigures(
  service: Pick<Service, "clickhouse" | "postgres" | "watermark">,
  reads: Reads,
  of: Workspace,
  { frequency, end, origin, segment }: Period,
): Promise<FrozenFigures> {
  const access = ownAccess("digests", of);
  const { workspace, environment } = access;
  const clocks = await clocksOf(service, access);
  if (clocks.completeTo < end) throw new PeriodIncomplete();
  const known_at = completeText(clocks);
  const start = periodStart(frequency, end);
  const at = new Date(end - 1).toISOString();
  const [from, to] = [utcDay(start), utcDay(end)];
  const part = segment === null ? null : await segmentOf(service.postgres, access, segment);
  const caller = { shown: origin, workspace, environment };
  const ask = async (path: string, screen: string, query: Readonly<Record<string, string>>) => {
    const asked = { ...query, known_at, ...(part === null ? {} : { segment: part.text }) };
    const answer = await askInProcess(reads, access, path, asked);
    return { answer, link: proofOf(caller, screen, new Map(Object.entries(asked)), answer) };
  };
  const byProduct = { from, to, by: "product", limit: String(limits.digestProductsMax) };
  const days = { from, to, interval: "day", compare: "previous_period", at };
  // One after another, because people who wait in the dashboard come first.
  const mrr = await ask("/v1/metrics/summary", "/mrr", { at });
  const changed = await ask("/v1/metrics/mrr/what-changed", "/what-changed", byProduct);
  const revenue = await ask("/v1/metrics/revenue", "/revenue", days);
  const drawn = { from: utcDay(end - limits.digestDaysDrawn * dayMs), to, interval: "day" };
  const daily = await ask("/v1/metrics/mrr/movements", "/mrr", drawn);
  return {
    workspace: of.name,
    frequency,
    days: { first: from, last: utcDay(end - 1) },
    at,
    knownAt: known_at,
    segment: part?.name ?? null,
    mrr: summaryAnswer.parse(mrr.answer).data,
    whatChanged: whatChangedAnswer.parse(changed.answer).data,
    revenue: revenueAnswer.parse(revenue.answer).data,
    columns: movementsAnswer.parse(daily.answer).data.movements.map(({ from: day, end_mrr }) => ({
      day,
      mrr: end_mrr,
      isOwn: day >= from,
    })),
    links: { mrr: mrr.link, whatChanged: changed.link, revenue: revenue.link },
  };
}

export interface Period {
  readonly frequency: Frequency;
  readonly end: number;
  readonly origin: string;
  /** Id; null: all. */
  readonly segment: string | null;
}

/** @throws ApiError 422 */
async function segmentOf(
  postgres: Service["postgres"],
  access: Pick<Access, "workspace" | "environment">,
  id: string,
): Promise<{ readonly text: string; readonly name: string }> {
  const text = await pinnedText(postgres, access, id);
  const names = await segmentNames(postgres, access.workspace);
  return { text, name: names.get(id.split(".")[0] ?? "") ?? id };
}
