/** Pages of the management lists: newest first; an opaque cursor pins the filters. */
import type { Context } from "koa";
import { z } from "zod";
import type { ListPage } from "../../workspaces/list-page.js";
import { limits } from "../../config.js";
import { type Cursors, cursorInvalid } from "../reading/cursors.js";

type Filters = Readonly<Record<string, string | undefined>>;

/** The row a page ended with: its time and id, as text. */
interface Mark {
  readonly at: string;
  readonly id: string;
}

export interface Stamped {
  readonly created_at: Date;
  readonly id: string;
}

const state = z.object({
  filters: z.record(z.string(), z.string()),
  rowsMax: z.int(),
  at: z.string(),
  id: z.string(),
});

export type List = ReturnType<typeof openList>;

/** @throws ApiError 400 for a cursor of another list or with other filters */
export function openList(
  ctx: Context,
  options: {
    readonly cursors: Cursors;
    readonly name: string;
    readonly query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    readonly filters?: Filters;
  },
) {
  const { cursors, name, query } = options;
  const scope = ["manage", name, String(ctx.params.workspace)];
  const held = query.cursor === undefined ? null : cursors.read(scope, query.cursor, state);
  const given = Object.entries(options.filters ?? {}).filter(([, value]) => value !== undefined);
  if (held !== null && given.some(([filter, value]) => held.filters[filter] !== value)) {
    throw cursorInvalid();
  }
  const filters: Filters = held?.filters ?? Object.fromEntries(given);
  const rowsMax = query.limit ?? held?.rowsMax ?? limits.pageRowsDefault;
  return {
    rowsMax,
    filters,
    after: held === null ? null : { at: held.at, id: held.id },
    /** @param rows up to one more than `rowsMax`, so that it shows whether there are more */
    answer<Row>(rows: readonly Row[], mark: (row: Row) => Mark, view: (row: Row) => unknown) {
      const shown = rows.slice(0, rowsMax);
      const last = shown.at(-1);
      const more = rows.length > rowsMax && last !== undefined;
      return {
        status: "success",
        data: shown.map(view),
        pagination: {
          has_more: more,
          next_cursor: more ? cursors.write(scope, { filters, rowsMax, ...mark(last) }) : null,
        },
      };
    },
  };
}

/** For lists in Postgres; one row more than shown, to know whether there are more. */
export function pageOf({ after, rowsMax }: List): ListPage {
  return {
    rowsMax: rowsMax + 1,
    after: after === null ? null : { createdAt: new Date(after.at), id: after.id },
  };
}

export function markOf({ created_at: at, id }: Stamped): Mark {
  return { at: at.toISOString(), id };
}
