/** Notes the outcome of a call at its delivery and its endpoint. */
import type { Postgres } from "../../stores/postgres/postgres.js";
import { updateRow } from "../../stores/postgres/rows.js";
import type { CallFailed } from "../channels/outbound.js";
import type { Delivery } from "./deliveries.js";
import { type DisabledBy, type Endpoint, disableEndpoint, noFailures } from "./endpoints.js";
import { limits } from "../../config.js";

/** An endpoint that failed for so long gets all that waits once it answers again. */
const longFailureMs = 60_000;
const gone = 410;

export async function noteTaken(
  postgres: Postgres,
  { id, endpoint }: Delivery,
  status: number,
  now: Date,
): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query(
      `UPDATE webhook_deliveries SET state = 'delivered', tries = tries + 1, status = $2,
         problem = NULL, delivered_at = $3, first_try_at = coalesce(first_try_at, $3)
       WHERE id = $1`,
      [id, status, now],
    );
    const [before] = await sql.query<Pick<Endpoint, "failing_since">>(
      "SELECT failing_since FROM webhook_endpoints WHERE id = $1 AND failures > 0 FOR UPDATE",
      [endpoint],
    );
    if (before === undefined) return;
    await updateRow(sql, "webhook_endpoints", endpoint, noFailures);
    const failedForMs = now.getTime() - (before.failing_since ?? now).getTime();
    if (failedForMs < longFailureMs) return;
    await sql.query(
      `UPDATE webhook_deliveries SET due_at = $2
       WHERE endpoint = $1 AND state = 'pending' AND due_at > $2`,
      [endpoint, now],
    );
  });
}

/**
 * @param isFirst of the simultaneous calls: only one of them makes the pause grow
 * @returns why the endpoint was disabled, if it was
 */
export async function noteFailed(
  postgres: Postgres,
  delivery: Delivery,
  { message: problem, status, retryAfterMs }: CallFailed,
  isFirst: boolean,
  now: Date,
): Promise<DisabledBy | null> {
  const { id, endpoint } = delivery;
  const tries = delivery.tries + 1;
  const firstTryAt = delivery.first_try_at ?? now;
  return postgres.transaction(async (sql) => {
    const [found] = await sql.query<Pick<Endpoint, "failures" | "failing_since">>(
      "SELECT failures, failing_since FROM webhook_endpoints WHERE id = $1 FOR UPDATE",
      [endpoint],
    );
    if (found === undefined) return null;
    const failures = isFirst ? found.failures + 1 : Math.max(1, found.failures);
    const since = found.failing_since ?? now;
    const by = status === gone ? "gone" : isOver(since, now) ? "failing" : null;
    await updateRow(sql, "webhook_endpoints", endpoint, {
      failures,
      failing_since: since,
      wait_until: nextTry(failures, retryAfterMs, now),
      problem,
    });
    // Where all fail it is not this one's fault: it waits until the endpoint is enabled.
    const isGivenUp = by === null && isOver(firstTryAt, now);
    const row = { id, state: "pending" };
    await updateRow(sql, "webhook_deliveries", row, {
      state: isGivenUp ? "failed" : "pending",
      tries,
      first_try_at: firstTryAt,
      due_at: nextTry(tries, retryAfterMs, now),
      status,
      problem,
    });
    return by !== null && (await disableEndpoint(sql, endpoint, by, now)) ? by : null;
  });
}

// When a failed delivery is tried again, and when it is given up.

/** After so many failures: 5 s, 20 s, 80 s, 5 min, … up to 8 hours. */
export function pauseMs(failures: number): number {
  const { webhookRetryMs: firstMs, webhookRetryMsMax: mostMs } = limits;
  return Math.min(mostMs, firstMs * growth ** (failures - 1));
}

const growth = 4;

/** @param asked ms that the receiver asks for (`Retry-After`) */
export function nextTry(failures: number, asked: number | null, now: Date): Date {
  const ms = Math.min(limits.webhookRetryMsMax, Math.max(pauseMs(failures), asked ?? 0));
  return new Date(now.getTime() + ms);
}

/** @param since when it failed first */
export function isOver(since: Date, now: Date): boolean {
  return now.getTime() - since.getTime() >= limits.webhookRetriesForMs;
}
