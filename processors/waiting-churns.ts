/**
 * Churns that end nothing (yet) are listed as rejects, `no_open_subscription`, until a partner
 * comes: then they are resolved by themselves.
 */
import { rowsIn } from "../backends/clickhouse-rows.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { insertRejects, type RejectRow } from "../backends/rejects.js";
import type { Side } from "./pairing.js";

const reason = "no_open_subscription";

/** @param sides of whole pools, `waiting` those of them without a partner */
export async function listWaiting(
  clickhouse: ClickHouse,
  sides: readonly Side[],
  waiting: readonly Side[],
): Promise<void> {
  const churns = sides.filter(({ side }) => side === "churn");
  if (churns.length === 0) return;
  const listed = await clickhouse.rows<RejectRow>(
    `SELECT * FROM rejects FINAL
     WHERE ${rowsIn(
       "(workspace, environment, event_id)",
       churns.map((churn) => [churn.workspace, churn.environment, churn.event_id]),
     )} AND reason = '${reason}' AND state = 'open'`,
  );
  const waits = new Set(waiting.map(({ event_id }) => event_id));
  const known = new Set(listed.map(({ event_id }) => event_id));
  const revision = Date.now();
  const resolved = listed
    .filter(({ event_id }) => !waits.has(event_id))
    .map((row) => ({ ...row, state: "resolved" as const, revision }));
  // Also of earlier batches: a churn that came late may have taken the partner of another.
  const opened = waiting
    .filter(({ event_id, native_type }) => !known.has(event_id) && native_type !== "")
    .map((churn) => rejectOf(churn, revision));
  await insertRejects(clickhouse, [...resolved, ...opened]);
}

function rejectOf(churn: Side, revision: number): RejectRow {
  return {
    workspace: churn.workspace,
    environment: churn.environment,
    event_id: churn.event_id,
    provider: churn.provider,
    native_type: churn.native_type,
    received_at: churn.recorded_at,
    step: "book",
    reason,
    detail: "No subscription that this churn could end is open at its time.",
    partition: churn.partition,
    offset: churn.offset,
    state: "open",
    revision,
  };
}
