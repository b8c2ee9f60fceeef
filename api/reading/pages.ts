/**
 * Walks over the pages of a list (`definitions.md`, Pages). The first page fixes what the walk
 * shows: its filters, `at`, and `known_at` = `complete_to`, because everything received up to then
 * is booked and what comes later carries a later receipt time. The first page is read as of that
 * moment too, so every row that existed then is seen once, as it was then.
 *
 * The price: the lists show an event once all received before it are booked. The metrics do not
 * wait.
 */
import { z } from "zod";
import type { Access } from "../../workspaces/keys.js";
import { limits } from "../../config.js";
import { type AsOf, type Clocks, readAsOf } from "./as-of.js";
import { type Cursors, cursorInvalid } from "./cursors.js";

/** A list reads as of a moment that stays the same over the walk. */
export type PinnedAsOf = AsOf & { readonly knownAt: number };

export interface Walk<Filters, Position> {
  readonly asOf: PinnedAsOf;
  /** Rows of this page. */
  readonly limit: number;
  readonly filters: Filters;
  /** The last row of the page before; null on the first page. */
  readonly after: Position | null;
  /** @param last the last row shown, when there are more */
  pagination(last: Position | null): { has_more: boolean; next_cursor: string | null };
}

interface WalkQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly at?: number | undefined;
  readonly known_at?: number | undefined;
}

export interface WalkOptions<Filters, Position> {
  readonly endpoint: string;
  readonly access: Access;
  readonly query: WalkQuery;
  /** As given: what is left out is undefined, and taken from the cursor when there is one. */
  readonly filters: Filters;
  readonly clocks: Clocks;
  readonly cursors: Cursors;
  readonly filtersSchema: z.ZodType<Filters>;
  readonly positionSchema: z.ZodType<Position>;
}

/** @throws ApiError 400 for a cursor of another list, 422 for moments that cannot be read */
export function openWalk<Filters extends object, Position>(
  options: WalkOptions<Filters, Position>,
): Walk<Filters, Position> {
  const { access, query, cursors } = options;
  const scope = [options.endpoint, access.workspace, access.environment];
  const state =
    query.cursor === undefined
      ? firstState(options)
      : continuedState(
          cursors.read(
            scope,
            query.cursor,
            stateSchema(options.filtersSchema, options.positionSchema),
          ),
          options,
        );
  const { filters, after } = state;
  const limit = query.limit ?? state.limit;
  return {
    asOf: {
      workspace: access.workspace,
      environment: access.environment,
      at: state.at,
      knownAt: state.known_at,
    },
    limit,
    filters,
    after,
    pagination: (last) => ({
      has_more: last !== null,
      next_cursor: last === null ? null : cursors.write(scope, { ...state, limit, after: last }),
    }),
  };
}

interface State<Filters, Position> {
  readonly filters: Filters;
  readonly at: number;
  readonly known_at: number;
  /** As it was given: a day is not over while it is today. */
  readonly asked_at?: number | undefined;
  readonly limit: number;
  readonly after: Position | null;
}

function stateSchema<Filters, Position>(
  filters: z.ZodType<Filters>,
  position: z.ZodType<Position>,
): z.ZodType<State<Filters, Position>> {
  const whole = z.number().int();
  return z.object({
    filters,
    at: whole,
    known_at: whole,
    asked_at: whole.optional(),
    limit: whole,
    after: position.nullable(),
  });
}

function firstState<Filters, Position>(
  options: WalkOptions<Filters, Position>,
): State<Filters, Position> {
  const { access, query, filters, clocks } = options;
  const { at, knownAt } = readAsOf(access, query, clocks);
  return {
    filters,
    at,
    known_at: knownAt ?? clocks.completeTo,
    asked_at: query.at,
    limit: limits.pageRowsDefault,
    after: null,
  };
}

/** Filters and moments given beside a cursor must be those it holds. */
function continuedState<Filters extends object, Position>(
  state: State<Filters, Position>,
  options: WalkOptions<Filters, Position>,
): State<Filters, Position> {
  const held: Record<string, unknown> = {
    ...state.filters,
    at: state.at,
    known_at: state.known_at,
  };
  const given = { ...options.filters, at: options.query.at, known_at: options.query.known_at };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === held[name]) continue;
    if (name !== "at" || value !== state.asked_at) throw cursorInvalid();
  }
  return state;
}
