/**
 * Churns that end nothing (yet) are listed as rejects, `no_open_subscription`, until a partner
 * comes: then they are resolved by themselves.
 */
import { clickhouseTime, rowsIn } from "../backends/clickhouse-rows.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import { insertRejects, type RejectRow } from "../backends/rejects.js";
import type { Fact } from "../schemas/records.js";
import type { Side } from "./pairing.js";

const reason = "no_open_subscription";

export async function listWaiting(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
  pool: readonly Side[],
  waiting: readonly Side[],
): Promise<void> {
  const churns = pool.filter(({ side }) => side === "churn");
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
  // A churn of an earlier batch was listed then; only this batch's can be new.
  const opened = batch
    .filter(({ event_id }) => waits.has(event_id) && !known.has(event_id))
    .flatMap((fact) => ("Anonymous" in fact.body ? [rejectOf(fact, revision)] : []));
  await insertRejects(clickhouse, [...resolved, ...opened]);
}

function rejectOf(fact: Fact, revision: number): RejectRow {
  return {
    workspace: fact.workspace,
    environment: fact.environment,
    event_id: fact.event_id,
    provider: fact.provider,
    native_type: fact.native_type,
    received_at: clickhouseTime(fact.received_at),
    step: "book",
    reason,
    detail: "No subscription that this churn could end is open at its time.",
    partition: fact.partition,
    offset: fact.offset.toString(),
    state: "open",
    revision,
  };
}
