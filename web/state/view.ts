/**
 * The state of a screen is its URL. A View is that URL, read: the range, the comparison, the
 * filters, the two clocks; links are made by changing some of it.
 */
import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useMemo } from "preact/hooks";
import type { Interval } from "../../schemas/http/series.js";
import {
  type Range,
  type RangeName,
  askedRange,
  comparedRange,
  dayAfter,
  dayText,
  intervalFor,
  isDay,
  isRangeName,
  rangeOf,
} from "./ranges.js";

export type Comparison = "none" | "previous" | "year" | "known";
/** Undefined and null remove a parameter. */
export type Changes = Readonly<Record<string, string | null | undefined>>;

/** Parameters that go along from screen to screen; all others belong to one screen. */
const carried = [
  "workspace",
  "environment",
  "range",
  "from",
  "to",
  "compare",
  "compare_known_at",
  "provider",
  "product",
  "currency",
  "country",
  "vintage",
  "plan_interval",
  "segment",
  "at",
  "known_at",
] as const;

/** Of all figures. */
export const filterNames = ["provider", "product", "currency", "country"] as const;
/** Of MRR, which knows when each account first had any, and how often plans are billed. */
export const mrrFilterNames = [...filterNames, "plan_interval", "vintage"] as const;
export type FilterName = (typeof mrrFilterNames)[number];
/** What figures are asked with; a segment adds filters of its own. */
export type Filters = Readonly<Partial<Record<FilterName | "segment", string>>>;

const intervals: readonly Interval[] = ["day", "week", "month", "quarter", "year"];
const comparisons: readonly Comparison[] = ["none", "previous", "year", "known"];

/**
 * The newest moment booked in the test environment of the workspace shown, where a provider's test
 * clock runs ahead of the reader's; as text, null where none does.
 */
export const testClock = signal<string | null>(null);

/** The segment of the address with the revision that figures are of; null until that is known. */
export const segmentShown = signal<string | null>(null);

export class View {
  readonly #params: URLSearchParams;
  /** How far figures reach where that is beyond the reader's today. */
  readonly testClock: string | null;

  constructor(
    readonly path: string,
    search: string,
    private readonly today = Date.now(),
    clock: string | null = null,
  ) {
    this.#params = new URLSearchParams(search);
    this.testClock = this.environment === "test" && this.at === null ? clock : null;
  }

  get(name: string): string | null {
    return this.#params.get(name);
  }

  get workspace(): string | null {
    return this.get("workspace");
  }

  get environment(): "live" | "test" {
    return this.get("environment") === "test" ? "test" : "live";
  }

  /** The moment figures are read at; null: now. */
  get at(): string | null {
    return this.get("at");
  }

  get knownAt(): string | null {
    return this.get("known_at");
  }

  get isFrozen(): boolean {
    return this.at !== null || this.knownAt !== null;
  }

  /** Whether a range was chosen. Without one, a screen may show all time. */
  get hasRange(): boolean {
    return this.get("range") !== null || this.get("from") !== null;
  }

  /** `own` when the days were chosen one by one. */
  get rangeName(): RangeName | "own" {
    if (this.get("from") !== null && this.rangeProblem === null) return "own";
    const name = this.get("range") ?? "";
    if (isRangeName(name)) return name;
    // Of MRR over time a year; what changed is asked about the month.
    return this.path === "/what-changed" ? "mtd" : "12m";
  }

  /** Why the days of the address cannot be shown; the range is the default one then. */
  get rangeProblem(): "unreadable" | "reversed" | null {
    const from = this.get("from");
    const to = this.get("to");
    if (from === null) return null;
    if (!isDay(from) || (to !== null && !isDay(to))) return "unreadable";
    return from < (to ?? dayAfter(dayText(this.end))) ? null : "reversed";
  }

  /** ms since 1970: when ranges end that have no other end. */
  get end(): number {
    const end = Date.parse(this.at ?? this.testClock ?? this.knownAt ?? "");
    return Number.isNaN(end) ? this.today : end;
  }

  /** Days, half-open. */
  get range(): Range {
    return rangeOf(this.rangeName, this.end, this.get("from"), this.get("to"));
  }

  /** The same as figures are asked for, to be compared. */
  get asked(): Range {
    return askedRange(this.rangeName, this.range);
  }

  get interval(): Interval {
    return (
      intervals.find((interval) => interval === this.get("interval")) ?? intervalFor(this.range)
    );
  }

  get comparison(): Comparison {
    return comparisons.find((name) => name === this.get("compare")) ?? "previous";
  }

  /** What figures are compared with; null: with nothing, or with an earlier reading. */
  get compared(): Range | null {
    return comparedRange(this.range, this.comparison);
  }

  /** The earlier reading that figures are compared with. */
  get comparedKnownAt(): string | null {
    return this.comparison === "known" ? this.get("compare_known_at") : null;
  }

  get filters(): Filters {
    return this.#filtersOf([...filterNames, "segment"]);
  }

  get mrrFilters(): Filters {
    return this.#filtersOf([...mrrFilterNames, "segment"]);
  }

  #filtersOf(names: readonly (keyof Filters)[]): Filters {
    return Object.fromEntries(
      names.flatMap((name) => {
        const value = this.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
  }

  /** What every call about figures is asked with. */
  get clocks(): Changes {
    return { at: this.at, known_at: this.knownAt };
  }

  get tenant(): Changes {
    return { workspace: this.workspace, environment: this.environment };
  }

  /** Of the same screen, with changes. */
  with(changes: Changes): string {
    return hrefOf(this.path, new URLSearchParams(this.#params), changes);
  }

  /** Of the same screen with another range: what depends on the one before is forgotten. */
  withRange(changes: Changes): string {
    const forgotten = { range: null, from: null, to: null, interval: null, against: null };
    return this.with({ ...forgotten, ...changes });
  }

  /** Of another screen: range, filters and clocks go along. */
  to(path: string, changes: Changes = {}): string {
    const params = new URLSearchParams();
    for (const name of carried) {
      const value = this.get(name);
      if (value !== null) params.set(name, value);
    }
    return hrefOf(path, params, changes);
  }
}

export function useView(): View {
  const { url } = useLocation();
  const clock = testClock.value;
  return useMemo(() => viewOf(url, clock), [url, clock]);
}

function viewOf(url: string, clock: string | null): View {
  const { pathname, search } = new URL(url, "http://here");
  return new View(pathname.replace(/(?<=.)\/+$/, ""), search, Date.now(), clock);
}

function hrefOf(path: string, params: URLSearchParams, changes: Changes): string {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined) params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  return query === "" ? path : `${path}?${query}`;
}
