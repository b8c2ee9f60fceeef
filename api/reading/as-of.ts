/**
 * The two clocks of a call (`definitions.md`, Two clocks): `at`, up to when things happened, and
 * `known_at`, up to when they were recorded.
 */
import { dayMs, startOfDay } from "./calendar.js";
import { unprocessable } from "../../schemas/http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Environment } from "../../schemas/records/records.js";

/** Whose rows a query reads, and up to which moments. */
export interface AsOf {
  readonly workspace: string;
  readonly environment: Environment;
  /** ms since 1970; rows that happened up to then, inclusive */
  readonly at: number;
  /** ms since 1970; null: everything booked, so that what was booked just now is not hidden */
  readonly knownAt: number | null;
}

export interface Clocks {
  /** `Watermark.completeTo()`, asked before the tables are: they hold at least that much. */
  readonly completeTo: number;
  readonly now: number;
  /**
   * Up to when something may have happened: now; in the test environment the newest moment booked,
   * where a provider's test clock runs ahead.
   */
  readonly reach: number;
}

/** As a query gives them, ms since 1970. */
export interface Moments {
  readonly at?: number | undefined;
  readonly known_at?: number | undefined;
}

/** @throws ApiError 422 for a moment up to which not all is booked yet, or that is to come */
export function checkKnownAt(knownAt: number, clocks: Clocks, param: string): void {
  if (knownAt > clocks.now) {
    throw unprocessable("moment_in_future", `${param} lies in the future.`, param);
  }
  if (knownAt <= clocks.completeTo) return;
  const complete = new Date(clocks.completeTo).toISOString();
  throw unprocessable(
    "known_at_incomplete",
    `Not everything received up to ${param} is booked yet; complete_to is ${complete}.`,
    param,
  );
}

/** @throws ApiError 422 for a moment in the future, or for a `known_at` not all booked yet */
export function readAsOf(
  access: Pick<Access, "workspace" | "environment">,
  query: Moments,
  clocks: Clocks,
): AsOf {
  // Today, as a day, is asked for up to its end.
  const isToday = query.at === startOfDay(clocks.now) + dayMs - 1;
  const at = isToday ? clocks.now : query.at;
  const { now, reach } = clocks;
  if ((at ?? 0) > reach) {
    throw unprocessable("moment_in_future", "at lies in the future.", "at");
  }
  if (query.known_at !== undefined) checkKnownAt(query.known_at, clocks, "known_at");
  return {
    workspace: access.workspace,
    environment: access.environment,
    // Nothing is older than 1970, and the engine's dates begin there.
    at: Math.max(0, at ?? (reach > now ? reach : (query.known_at ?? now))),
    knownAt: query.known_at === undefined ? null : Math.max(0, query.known_at),
  };
}
