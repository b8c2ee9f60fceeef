/** Pages of the management lists: newest first; an opaque cursor pins the filters. */
import type { Context } from "koa";
import { z } from "zod";
import type { ListPage } from "../../workspaces/list-page.js";
import { limits } from "../../config.js";
import { type Cursors, cursorInvalid } from "../reading/cursors.js";

export type Filters = Readonly<Record<string, string | undefined>>;

export interface Stamped {
  readonly created_at: Date | string;
  readonly id: string;
}

const state = z.object({
  filters: z.record(z.string(), z.string()),
  rowsMax: z.int(),
  at: z.string(),
  id: z.string(),
});

export interface Pages {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export type List = ReturnType<typeof openList>;

/** @throws ApiError 400 for a cursor of another list or with other filters */
export function openList(
  { ctx, cursors }: { readonly ctx: Context; readonly cursors: Cursors },
  name: string,
  { limit, cursor, filters: wanted }: Pages & { readonly filters: Filters },
) {
  const scope = ["manage", name, ...Object.values<string>(ctx.params)];
  const held = cursor === undefined ? null : cursors.read(scope, cursor, state);
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  if (held !== null && given.some(([filter, value]) => held.filters[filter] !== value)) {
    throw cursorInvalid();
  }
  const filters: Filters = held?.filters ?? Object.fromEntries(given);
  const rowsMax = limit ?? held?.rowsMax ?? limits.pageRowsDefault;
  return {
    filters,
    /** The time and id of the last row shown, as text; null: the first page. */
    after: held === null ? null : { at: held.at, id: held.id },
    /** One row more than is shown, to know whether another page follows. */
    page: {
      rowsMax: rowsMax + 1,
      after: held === null ? null : { createdAt: new Date(held.at), id: held.id },
    } satisfies ListPage,
    answer<Row extends Stamped>(rows: readonly Row[], view: (row: Row) => unknown) {
      const shown = rows.slice(0, rowsMax);
      const last = rows.length > rowsMax ? shown.at(-1) : undefined;
      const next = last && { filters, rowsMax, at: textOf(last.created_at), id: last.id };
      return {
        status: "success",
        data: shown.map(view),
        pagination: {
          has_more: next !== undefined,
          next_cursor: next === undefined ? null : cursors.write(scope, next),
        },
      };
    },
  };
}

const textOf = (at: Date | string): string => (at instanceof Date ? at.toISOString() : at);
