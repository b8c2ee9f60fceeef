/**
 * Churns that end nothing (yet) are listed as rejects, `no_open_subscription`, until a partner
 * comes: then they are resolved by themselves.
 */
import { matching } from "../../../clickhouse/rows.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { insertRejects, type RejectRow } from "../../../rejects/rejects.js";
import { inAccounts } from "./change.js";
import { isNamed, type Side } from "./pairing.js";
import { accountsOf, nameOf, sharedAmong, type Subscription } from "./transfers.js";

const reason = "no_open_subscription";

type Started = Subscription & Pick<Side, "at">;

/** @param sides of whole pools, `unpaired` those of them without a partner */
export async function listWaiting(
  clickhouse: ClickHouse,
  sides: readonly Side[],
  unpaired: readonly Side[],
): Promise<void> {
  const churns = sides.filter(({ side }) => side === "churn");
  if (churns.length === 0) return;
  const waiting = await withoutStart(clickhouse, unpaired);
  const listed = await clickhouse.rows<RejectRow>(
    `SELECT * FROM rejects FINAL
     WHERE ${matching(churns, "workspace", "environment", "event_id")}
       AND reason = '${reason}' AND state = 'open'`,
  );
  const waits = new Set(waiting.map(({ event_id }) => event_id));
  const known = new Set(listed.map(({ event_id }) => event_id));
  const revision = Date.now();
  const resolved = listed
    .filter(({ event_id }) => !waits.has(event_id))
    .map((row) => ({ ...row, state: "resolved" as const, revision }));
  // Also of earlier batches: a churn that came late may have taken the partner of another.
  const opened = waiting
    .filter(({ event_id }) => !known.has(event_id))
    .map((churn) => rejectOf(churn, revision));
  await insertRejects(clickhouse, [...resolved, ...opened]);
}

/**
 * Without those that name an existing subscription: they end it by themselves
 * (`providers/record-facts.ts`), also under another account (`transfers.ts`).
 */
async function withoutStart(clickhouse: ClickHouse, unpaired: readonly Side[]): Promise<Side[]> {
  const named = unpaired.filter(({ pool }) => isNamed(pool));
  if (named.length === 0) return [...unpaired];
  const shared = await sharedAmong(clickhouse, named);
  const starts = await clickhouse.rows<Started>(
    `SELECT workspace, environment, provider, subscription, min(at) AS at
     FROM subscription_changes
     WHERE ${inAccounts([...named, ...accountsOf(shared)])}
       AND ${matching(named, "subscription")} AND phase NOT IN ('ended', 'expired')
     GROUP BY workspace, environment, provider, subscription`,
  );
  const startedAt = new Map(starts.map((start) => [nameOf(start), start.at]));
  return unpaired.filter((churn) => {
    const at = isNamed(churn.pool) ? startedAt.get(nameOf(churn)) : undefined;
    return at === undefined || at > churn.at;
  });
}

function rejectOf(churn: Side, revision: number): RejectRow {
  const detail = "No subscription that this churn could end is open at its time.";
  const received_at = churn.recorded_at;
  return { ...churn, received_at, step: "book", reason, detail, state: "open", revision };
}
