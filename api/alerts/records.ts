/** Events, rejects and differences over time, for alerts about them. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { monthNumber, monthText, startOfMonth } from "../../schemas/months.js";
import type { Service } from "../../service.js";
import { differencesByMonth } from "../../workspaces/history/reconciliations.js";
import { momentSql, tenantSql } from "../reading/query.js";
import { rowsOf } from "../reading/reading.js";
import type { Point } from "./conditions.js";

/** ms since 1970 */
export interface Window {
  readonly from: number;
  readonly to: number;
}

type Stores = Pick<Service, "clickhouse" | "postgres">;

const hourMs = 60 * 60 * 1000;

/** The first and last receipt of each hour that has any: a longer silence is never within one. */
export async function receiptsIn(
  service: Stores,
  workspace: string,
  integration: string | undefined,
  window: Window,
): Promise<number[]> {
  const only = integration === undefined ? "" : " AND integration = {integration:String}";
  const found = `SELECT received_at FROM raw_events
WHERE ${tenantSql} AND received_at BETWEEN ${momentSql("from")} AND ${momentSql("to")}${only}`;
  const sql = `SELECT toUnixTimestamp64Milli(min(received_at)) AS first_ms,
  toUnixTimestamp64Milli(max(received_at)) AS last_ms
FROM ${eachShard(found)} GROUP BY toStartOfHour(received_at) ORDER BY first_ms`;
  const rows = await rowsOf<{ readonly first_ms: string; readonly last_ms: string }>(service, {
    sql,
    params: { workspace, environment: "live", integration: integration ?? "", ...window },
  });
  return rows.flatMap(({ first_ms, last_ms }) => [Number(first_ms), Number(last_ms)]);
}

/**
 * Hours since the last event: 0 when one comes, `hours` when none has come for so long, and the
 * present value.
 * @param receipts ms since 1970, in order of time, within the window
 */
export function silencePoints(
  receipts: readonly number[],
  { from, to }: Window,
  hours: number,
): Point[] {
  const pointAt = (last: number, at: number, value: number): Point => ({
    start: last,
    at,
    value,
    isOver: true,
  });
  const points: Point[] = [];
  let last = from;
  for (const next of [...receipts, to]) {
    if (last + hours * hourMs < next) points.push(pointAt(last, last + hours * hourMs, hours));
    if (next < to) points.push(pointAt(next, next, 0));
    else points.push(pointAt(last, to, Math.floor(((to - last) / hourMs) * 100) / 100));
    last = next;
  }
  return points;
}

/** How many rejects were open at the end of each hour in which that changed, and now. */
export async function rejectPoints(
  service: Stores,
  workspace: string,
  { from, to }: Window,
): Promise<Point[]> {
  const changes = `SELECT received_at AS at, 1 AS change FROM rejects FINAL WHERE ${tenantSql}
UNION ALL
SELECT fromUnixTimestamp64Milli(toInt64(revision), 'UTC') AS at, -1 AS change FROM rejects FINAL
WHERE ${tenantSql} AND state != 'open'`;
  // One row stands for all before the window.
  const hour = `greatest(toStartOfHour(at), toDateTime(${momentSql("from")}, 'UTC'))`;
  const sql = `SELECT toUnixTimestamp64Milli(max(at)) AS at_ms, sum(change) AS change
FROM ${eachShard(changes)} GROUP BY ${hour} ORDER BY at_ms`;
  const rows = await rowsOf<{ readonly at_ms: string; readonly change: string }>(service, {
    sql,
    params: { workspace, environment: "live", from },
  });
  let open = 0;
  const points = rows.map(({ at_ms, change }): Point => {
    open += Number(change);
    return { start: Number(at_ms), at: Number(at_ms), value: open, isOver: true };
  });
  const before = points.filter(({ at }) => at < to);
  return [...before, { start: to, at: to, value: open, isOver: true }];
}

const monthsTogether = 3;

/** How much of three months differs by the last comparison: at the end of each, and now. */
export async function differencePoints(
  service: Stores,
  workspace: string,
  integration: string | undefined,
  { from, to }: Window,
): Promise<Point[]> {
  const first = monthText(monthNumber(from) + 1 - monthsTogether);
  const rows = await differencesByMonth(service.postgres, workspace, integration ?? null, first);
  const points: Point[] = [];
  for (let start = startOfMonth(from); start <= to; start = startOfMonth(start, 1)) {
    const last = monthNumber(start);
    const [begin, end] = [monthText(last + 1 - monthsTogether), monthText(last)];
    const known = rows.filter(({ month }) => month >= begin && month <= end);
    const value = known.length === 0 ? null : known.reduce((sum, one) => sum + one.differences, 0);
    const kinds: Record<string, number> = {};
    for (const one of known) {
      const costs = one.costs.map(({ kind, differing }) => [kind, differing] as const);
      for (const [kind, count] of [...Object.entries(one.kinds), ...costs]) {
        kinds[kind] = (kinds[kind] ?? 0) + count;
      }
    }
    points.push({ start, at: Math.min(startOfMonth(start, 1), to), value, isOver: true, kinds });
  }
  return points;
}
