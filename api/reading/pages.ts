/**
 * Walks over the pages of a list (`definitions.md`, Pages). The first page fixes what the walk
 * shows: its filters, `at`, and `known_at` = `complete_to`, because everything received up to then
 * is booked and what comes later carries a later receipt time. The first page is read as of that
 * moment too, so every row that existed then is seen once, as it was then.
 *
 * The price: the lists show an event once all received before it are booked. The metrics do not
 * wait.
 */
import { isDeepStrictEqual } from "node:util";
import type { Context } from "koa";
import { z } from "zod";
import type { Access } from "../../workspaces/keys.js";
import { limits } from "../../config.js";
import type { Service } from "../../service.js";
import type { Parameters } from "../../http/query.js";
import { type AsOf, type Clocks, type Moments, readAsOf } from "./as-of.js";
import { type Cursors, cursorInvalid } from "./cursors.js";
import type { Query as Sql } from "./query.js";
import { rowsOf } from "./reading.js";

/** A list reads as of a moment that stays the same over the walk. */
export type PinnedAsOf = AsOf & { readonly knownAt: number };

export interface Page<Row, Position> {
  readonly rows: readonly Row[];
  /** Where the next page begins; null at the end of the list. */
  readonly last: Position | null;
  /** What the answer has besides rows, or in place of its `data`. */
  readonly more?: object;
}

/** A row of a list and where the page that ends with it is continued. */
export interface Placed<Row, Position> {
  readonly row: Row;
  readonly position: Position;
}

/** @param reads of the list, in its order, from where the page begins */
export async function pageFrom<Row, Position>(
  reads: AsyncIterable<readonly Placed<Row, Position>[]>,
  limit: number,
): Promise<Page<Row, Position>> {
  const found: Placed<Row, Position>[] = [];
  for await (const some of reads) {
    found.push(...some);
    if (found.length > limit) break;
  }
  const page = found.slice(0, limit);
  return {
    rows: page.map(({ row }) => row),
    last: found.length > limit ? (page.at(-1)?.position ?? null) : null,
  };
}

/** Rows of the first read, and of the largest: each is twice as long as the one before. */
export type ReadSizes = Readonly<Record<"first" | "max", number>>;

/**
 * Reads whose rows may be left out of the answer. It ends with the list at the latest: every read
 * begins after the one before.
 * @param read `rows` of them after `after`; `end` null at the end of the list
 */
export async function* growingReads<Row, Position>(
  after: Position | null,
  { first, max }: ReadSizes,
  read: (
    after: Position | null,
    rows: number,
  ) => Promise<{ readonly shown: Row[]; readonly end: Position | null }>,
): AsyncGenerator<Row[]> {
  let count = first;
  for (let last = after; ;) {
    const { shown, end } = await read(last, count);
    yield shown;
    if (end === null) return;
    last = end;
    count = Math.min(max, 2 * count);
  }
}

/**
 * Where a list goes on in which several rows may have the same key: what the last row is ordered by
 * (ms since 1970, or decimal text), and how many rows of that key were shown.
 */
export const keyPosition = z.object({
  key: z.string().regex(/^-?\d+(\.\d+)?$/),
  rows: z.number().int(),
});
export type KeyPosition = Readonly<z.output<typeof keyPosition>>;

/** @param query of `limit` rows from `after` on, and one more, to see whether there are more */
export async function readByKey<Row>(
  service: Pick<Service, "clickhouse">,
  query: Sql,
  limit: number,
  after: KeyPosition | null,
  keyOf: (row: Row) => string,
): Promise<Page<Row, KeyPosition>> {
  const found = await rowsOf<Row>(service, query);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { rows, last: null };
  const key = keyOf(last);
  const together = rows.filter((row) => keyOf(row) === key).length;
  return { rows, last: { key, rows: together + (after?.key === key ? after.rows : 0) } };
}

export interface Walk<Query, Position> {
  readonly asOf: PinnedAsOf;
  /** Rows of this page. */
  readonly limit: number;
  /** The filters of the walk, as the first page had them. */
  readonly query: Query;
  /** The last row of the page before; null on the first page. */
  readonly after: Position | null;
  /** @param last the last row shown, when there are more */
  pagination(last: Position | null): { has_more: boolean; next_cursor: string | null };
}

export interface WalkQuery extends Moments {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface WalkOptions<Query, Position> {
  readonly endpoint: string;
  readonly access: Access;
  /** Its parameters are checked already: `query` is what they say. */
  readonly ctx: Pick<Context, "querystring">;
  readonly parameters: Parameters<Query>;
  readonly query: Query;
  readonly clocks: Clocks;
  /** ms since 1970, of a list that also shows what is to come. */
  readonly reach?: number;
  /** What the first page is as of, where that is not `at` and `known_at`; may refuse it. */
  readonly momentsOf?: (query: Query, clocks: Clocks) => Moments;
  readonly cursors: Cursors;
  readonly position: z.ZodType<Position>;
}

/** @throws ApiError 400 for a cursor of another list, 422 for moments that cannot be read */
export function openWalk<Query extends WalkQuery, Position>(
  options: WalkOptions<Query, Position>,
): Walk<Query, Position> {
  const { access, query, cursors } = options;
  const { workspace, environment } = access;
  const scope = [options.endpoint, workspace, environment];
  const state =
    query.cursor === undefined
      ? firstState(options)
      : cursors.read(scope, query.cursor, stateSchema(options.position));
  const limit = query.limit ?? state.limit;
  return {
    asOf: { workspace, environment, at: state.at, knownAt: state.known_at },
    limit,
    query: query.cursor === undefined ? query : continued(state, options),
    after: state.after,
    pagination: (last) => ({
      has_more: last !== null,
      next_cursor: last === null ? null : cursors.write(scope, { ...state, limit, after: last }),
    }),
  };
}

interface State<Position> {
  /** The parameters of the first page, as given. */
  readonly given: Readonly<Record<string, string>>;
  readonly at: number;
  readonly known_at: number;
  readonly limit: number;
  readonly after: Position | null;
}

function stateSchema<Position>(position: z.ZodType<Position>): z.ZodType<State<Position>> {
  const whole = z.number().int();
  return z.object({
    given: z.record(z.string(), z.string()),
    at: whole,
    known_at: whole,
    limit: whole,
    after: position.nullable(),
  });
}

function firstState<Query extends WalkQuery, Position>({
  access,
  ctx,
  query,
  clocks,
  reach = clocks.reach,
  momentsOf = (moments) => moments,
}: WalkOptions<Query, Position>): State<Position> {
  const { at, knownAt } = readAsOf(access, momentsOf(query, clocks), { ...clocks, reach });
  return {
    given: Object.fromEntries(new URLSearchParams(ctx.querystring)),
    at,
    known_at: knownAt ?? clocks.completeTo,
    limit: limits.pageRowsDefault,
    after: null,
  };
}

/** Filters and moments given beside a cursor must be those it holds; `at` may be as asked. */
function continued<Query extends WalkQuery>(
  { given, at, known_at }: State<unknown>,
  { parameters, query }: Pick<WalkOptions<Query, unknown>, "parameters" | "query">,
): Query {
  const first = parameters.safeParse(given);
  if (!first.success) throw cursorInvalid();
  const asked = new Map<string, unknown>(Object.entries(first.data));
  const pinned = new Map<string, unknown>(Object.entries({ at, known_at, to_known_at: known_at }));
  for (const [name, value] of Object.entries(query)) {
    const isOfPage = name === "limit" || name === "cursor" || name === "format";
    if (isOfPage || value === undefined) continue;
    if (!isDeepStrictEqual(value, asked.get(name)) && value !== pinned.get(name)) {
      throw cursorInvalid();
    }
  }
  return first.data;
}
