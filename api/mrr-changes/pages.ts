/** Reads one page of what changed between two readings: events newest first, then their rows. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { Page, PinnedAsOf } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { type CauseRow, type MrrChangeRow, causesQuery, mrrChangesQuery } from "./query.js";

export interface MrrChange extends MrrChangeRow {
  readonly because: CauseRow;
}

/** Where a page ended: so many rows of this cause were shown. */
export interface MrrChangePosition extends CauseRow {
  readonly rows: number;
}

/** The first read; most changes of a subscription are renewals, which change nothing. */
const causesAtFirst = 64;
/** Each read four times the one before, up to this many causes; an export begins with as many. */
const causesAtOnceMax = 4_096;
/** Each has all earlier changes of its account to itself: of some accounts these are thousands. */
const causesOfAccountMax = 64;

/** @param from ms since 1970: what was recorded later, up to `asOf.knownAt` */
export async function readMrrChanges(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: PinnedAsOf,
  from: number,
  provider: string | undefined,
  after: MrrChangePosition | null,
  limit: number,
  isExport = false,
): Promise<Page<MrrChange, MrrChangePosition>> {
  const found: { row: MrrChange; position: MrrChangePosition }[] = [];
  let until: CauseRow | null = after;
  // Of the cause the page before ended with.
  let shown = after?.rows ?? 0;
  let causesMax = isExport ? causesAtOnceMax : causesAtFirst;
  // Ends with the events at the latest: every read begins where the one before ended.
  for (;;) {
    const asked = causesQuery(asOf, from, provider, until, causesMax + 1);
    const causes = await rowsOf<CauseRow>({ clickhouse }, asked);
    const read = atOnce(causes.slice(0, causesMax));
    const rows =
      read.length === 0
        ? []
        : await rowsOf<MrrChangeRow>({ clickhouse }, mrrChangesQuery(asOf, read));
    for (const [index, because] of read.entries()) {
      const ofCause = rows.filter(({ cause }) => cause === index);
      for (const [place, row] of ofCause.entries()) {
        if (place < shown) continue;
        const position = { ...because, rows: place + 1 };
        found.push({ row: { ...row, because }, position });
      }
      shown = 0;
    }
    if (found.length > limit) {
      const page = found.slice(0, limit);
      return { rows: page.map(({ row }) => row), last: page.at(-1)?.position ?? null };
    }
    until = causes[read.length] ?? null;
    if (until === null) return { rows: found.map(({ row }) => row), last: null };
    causesMax = Math.min(causesAtOnceMax, 4 * causesMax);
  }
}

/** The first of them, up to where one account has too many. */
function atOnce(causes: readonly CauseRow[]): readonly CauseRow[] {
  const counts = new Map<string, number>();
  const end = causes.findIndex(({ account }) => {
    const count = (counts.get(account) ?? 0) + 1;
    counts.set(account, count);
    return count > causesOfAccountMax;
  });
  return end < 0 ? causes : causes.slice(0, end);
}
