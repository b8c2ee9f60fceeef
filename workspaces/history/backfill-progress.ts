/** How far a backfill has come in the list that it reads or compares, and what time is left. */
import type { BackfillView } from "../../schemas/http/manage.js";
import type { Backfill } from "./backfills.js";
import { monthsOf } from "../../schemas/months.js";

/** Less of a list says little about the rest of it. */
const shareMin = 0.02;

type Running = Pick<
  Backfill,
  "state" | "from" | "createdAt" | "updatedAt" | "listSince" | "through"
>;

/** @returns null once it has ended */
export function progressOf(backfill: Running): BackfillView["progress"] {
  const { state, listSince, updatedAt } = backfill;
  if (state !== "reading" && state !== "comparing") return null;
  const span = { from: backfill.from.getTime(), to: backfill.createdAt.getTime() };
  const months = monthsOf(span);
  if (backfill.through === null) {
    return { months: months.length, months_done: null, list_seconds_left: null };
  }
  const through = {
    from: Math.max(backfill.through.from, span.from),
    to: Math.min(backfill.through.to, span.to),
  };
  const done = months.filter(({ from, to }) => from >= through.from && to <= through.to);
  const share = span.to === span.from ? 1 : (through.to - through.from) / (span.to - span.from);
  const elapsedMs = listSince === null ? null : updatedAt.getTime() - listSince.getTime();
  return {
    months: months.length,
    months_done: done.length,
    list_seconds_left:
      elapsedMs === null || share < shareMin
        ? null
        : Math.round((elapsedMs * (1 - share)) / share / 1000),
  };
}
