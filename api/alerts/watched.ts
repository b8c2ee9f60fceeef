/** What a rule watches: its series, as the interface answers it, and the screen that shows it. */
import type { AlertCondition, AlertRule, FigureRule } from "../../schemas/http/outbound/alerts.js";
import { summaryNames } from "../../schemas/http/outbound/alerts.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { Service } from "../../service.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { proofOf } from "../reading/proof-links.js";
import { dayMs, intervalStart, nextInterval } from "../reading/calendar.js";
import { type Reads, askInProcess, ownAccess } from "../reading/in-process.js";
import { clocksOf, completeText } from "../reading/reading.js";
import { revenueAnswer } from "../revenue/schema.js";
import { pinnedText } from "../segments/resolve.js";
import { summaryAnswer } from "../summary/schema.js";
import { type Point, type Series, lookBack, needsWhole } from "./conditions.js";
import { watchable } from "./figures.js";
import { differencePoints, receiptsIn, rejectPoints, silencePoints } from "./records.js";

export interface Watched {
  readonly series: Series;
  readonly condition: AlertCondition;
  readonly linkOf: (point: Point) => string;
  /** ms since 1970: the condition cannot be met before; null: it may be at any time. */
  readonly notBefore: number | null;
}

export interface Reading {
  readonly service: Pick<Service, "clickhouse" | "postgres" | "watermark">;
  readonly reads: Reads;
  readonly workspace: Workspace;
  readonly origin: string;
}

const environment = "live";
const hourMs = 60 * 60 * 1000;
const daysPerWeek = 7;
/** A sum of a whole interval is judged this long after its end, for late webhooks. */
const waitMs = hourMs;

/**
 * @param since ms since 1970: only later points are judged
 * @throws ApiError as the calls about figures do
 */
export async function readWatched(
  reading: Reading,
  rule: AlertRule,
  since: number,
): Promise<Watched> {
  const { service, workspace, origin } = reading;
  const { completeTo } = await clocksOf(service, { workspace: workspace.id, environment });
  if (rule.on === "figure") return figureOf(reading, rule, since, completeTo);
  const integration = "integration" in rule ? rule.integration : undefined;
  const ofIntegration = integration === undefined ? "" : `/${integration}`;
  const screen = rule.on === "rejects" ? "rejects" : `integrations${ofIntegration}`;
  const link = new URL(`/settings/${screen}`, origin);
  link.searchParams.set("workspace", workspace.id);
  const linkOf = () => link.toString();
  const steady = { linkOf, notBefore: null };
  const window = { from: Math.min(since, completeTo), to: completeTo };
  if (rule.on === "rejects") {
    const points = await rejectPoints(service, workspace.id, window);
    return { ...steady, series: seriesOf(points), condition: { is: "above", value: rule.above } };
  }
  if (rule.on === "differences") {
    const points = await differencePoints(service, workspace.id, integration, window);
    return { ...steady, series: seriesOf(points), condition: { is: "above", value: rule.above } };
  }
  const { hours } = rule;
  // An earlier event may have begun a silence that lasts.
  const from = window.from - hours * hourMs;
  const receipts = await receiptsIn(service, workspace.id, integration, { ...window, from });
  const points = silencePoints(receipts, { ...window, from }, hours);
  const last = receipts.at(-1);
  return {
    linkOf,
    series: seriesOf(points),
    condition: { is: "above", value: hours - 1 / hourMs },
    notBefore: last === undefined ? null : last + hours * hourMs,
  };
}

function seriesOf(points: readonly Point[]): Series {
  return { points, stride: 1, isBalance: true, grows: null };
}

async function figureOf(
  reading: Reading,
  rule: FigureRule,
  since: number,
  completeTo: number,
): Promise<Watched> {
  const { workspace, origin } = reading;
  const { interval, condition, figure } = rule;
  const { segment, ...others } = rule.filters ?? {};
  const tenant = { workspace: workspace.id, environment } as const;
  const filters =
    segment === undefined
      ? others
      : { ...others, segment: await pinnedText(reading.service.postgres, tenant, segment) };
  const { isBalance, grows } = watchable[figure];
  const stride = interval === "day" ? daysPerWeek : 1;
  let from = intervalStart(interval, Math.min(since, completeTo));
  for (let back = lookBack(condition, stride); back > 0; back -= 1) {
    from = intervalStart(interval, from - 1);
  }
  const known_at = completeText({ completeTo });
  const ofSummary = isSummary(figure);
  const asked = { ...given(filters), interval, known_at };
  const points = await pointsOf(reading, rule, { ...asked, from: utcDay(from) });
  const isWaited = needsWhole({ isBalance, grows }, condition);
  const isReady = ({ isOver, at }: Point) => !isWaited || !isOver || at + waitMs <= completeTo;
  const nextEnd = nextInterval(interval, intervalStart(interval, completeTo - waitMs));
  return {
    series: { points: points.filter(isReady), stride, isBalance, grows },
    condition,
    linkOf,
    notBefore: isWaited ? nextEnd + waitMs : null,
  };

  /** A frozen link to the screen of this interval, which shows the value of the point. */
  function linkOf({ start, at, isOver }: Point): string {
    const shown = { shown: origin, workspace: workspace.id, environment };
    const days = { from: utcDay(start), to: utcDay(isOver ? at : at - (at % dayMs) + dayMs) };
    const args = new Map(Object.entries({ ...asked, ...days }));
    const moment = new Date(isOver ? at - 1 : at).toISOString();
    return proofOf(shown, ofSummary ? "/overview" : "/revenue", args, { at: moment });
  }
}

async function pointsOf(
  { reads, workspace }: Reading,
  { figure, interval }: FigureRule,
  query: Readonly<Record<string, string>>,
): Promise<Point[]> {
  const ask = (path: string) => askInProcess(reads, ownAccess("alerts", workspace), path, query);
  if (isSummary(figure)) {
    const { data } = summaryAnswer.parse(await ask("/v1/metrics/summary"));
    return (data.series ?? []).map((row) => {
      const [start, until] = [Date.parse(row.since), Date.parse(row.until)];
      const isOver = until === nextInterval(interval, start);
      return { start, at: until, value: row[figure], isOver };
    });
  }
  const { data, at } = revenueAnswer.parse(await ask("/v1/metrics/revenue"));
  const asOf = Date.parse(at);
  return data.revenue.map((row) => {
    const start = Date.parse(row.from);
    const end = nextInterval(interval, start);
    const isOver = end - 1 <= asOf;
    return { start, at: isOver ? end : asOf, value: row[figure], isOver };
  });
}

function isSummary(figure: FigureRule["figure"]): figure is (typeof summaryNames)[number] {
  return summaryNames.some((name) => name === figure);
}

function given(filters: FigureRule["filters"] = {}): Record<string, string> {
  const known = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(known);
}
