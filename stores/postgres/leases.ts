/**
 * Leases for work that only one process may do at a time, or once per interval: one row in Postgres
 * each, by the clock of Postgres. The lease of a dead process expires.
 */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import type { Postgres } from "./postgres.js";
import { randomBase62 } from "../vault/random.js";

/** True for one caller per `everyMs`. If the work fails, `giveTurnBack` frees the turn. */
export async function takeTurn(postgres: Postgres, name: string, everyMs: number) {
  return takeLease(postgres, name, randomBase62(20), everyMs);
}

/** The next caller need not wait for the end of `everyMs`. */
export async function giveTurnBack(postgres: Postgres, name: string): Promise<void> {
  await postgres.query("DELETE FROM leases WHERE name = $1", [name]);
}

/** Does the work under the lease; null if another process holds it. */
export async function tryExclusively<T>(
  postgres: Postgres,
  name: string,
  work: () => Promise<T>,
): Promise<{ readonly result: T } | null> {
  const holder = randomBase62(20);
  if (!(await takeLease(postgres, name, holder, limits.leaseMs))) return null;
  // A failed renewal is retried; work under a lease tolerates a second process.
  let renewed: Promise<unknown> = Promise.resolve();
  const renewal = setInterval(() => {
    renewed = takeLease(postgres, name, holder, limits.leaseMs).catch(() => undefined);
  }, limits.leaseMs / renewalsPerLease);
  try {
    return { result: await work() };
  } finally {
    clearInterval(renewal);
    await renewed;
    await endLease(postgres, name, holder);
  }
}

/** Waits for the lease, then does the work. */
export async function alone<T>(
  postgres: Postgres,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const done = await tryExclusively(postgres, name, work);
    if (done !== null) return done.result;
    await pause(lookEveryMs);
  }
}

/** The names with this prefix whose lease is held. */
export async function heldLeases(postgres: Postgres, prefix: string): Promise<string[]> {
  const rows = await postgres.query<{ name: string }>(
    "SELECT name FROM leases WHERE starts_with(name, $1) AND until > now()",
    [prefix],
  );
  return rows.map(({ name }) => name);
}

const renewalsPerLease = 3;
const lookEveryMs = 200;

/** Renews it, too. */
export async function takeLease(
  postgres: Postgres,
  name: string,
  holder: string,
  ms: number,
): Promise<boolean> {
  const rows = await postgres.query(
    `INSERT INTO leases (name, holder, until)
     VALUES ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond')
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leases.until <= clock_timestamp() OR leases.holder = excluded.holder
     RETURNING name`,
    [name, holder, ms],
  );
  return rows.length > 0;
}

/** @returns false when it has expired, or has less than `leftMs` left */
export async function keepLease(
  postgres: Postgres,
  name: string,
  holder: string,
  { forMs, leftMs }: { readonly forMs: number; readonly leftMs: number },
): Promise<boolean> {
  const rows = await postgres.query(
    `UPDATE leases SET until = clock_timestamp() + $3::float8 * interval '1 millisecond'
     WHERE name = $1 AND holder = $2
       AND until > clock_timestamp() + $4::float8 * interval '1 millisecond'
     RETURNING name`,
    [name, holder, forMs, leftMs],
  );
  return rows.length > 0;
}

/** If this fails, the lease expires. */
export async function endLease(postgres: Postgres, name: string, holder: string): Promise<void> {
  await postgres
    .query("DELETE FROM leases WHERE name = $1 AND holder = $2", [name, holder])
    .catch(() => undefined);
}
