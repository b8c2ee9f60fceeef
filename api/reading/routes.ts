/** What every read route does: who asks what, the clocks, then its queries; JSON or a table. */
import type { Context } from "koa";
import type { z } from "zod";
import type { Catalogue, CatalogueView } from "../../workspaces/catalogue/view.js";
import { limits } from "../../config.js";
import { requireKey } from "../../http/auth.js";
import { type Parameters, readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Turns } from "../../http/turns.js";
import type { Service } from "../../service.js";
import type { ExportFormat } from "../../schemas/http/formats.js";
import type { SegmentRef } from "../../schemas/http/series.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { Figures } from "../../stores/watermark/watermark.js";
import type { Access } from "../../workspaces/keys.js";
import type { CustomerReader } from "../../workspaces/customers/stored.js";
import { customersTable, withCustomers } from "../customers/names.js";
import { type Ingredients, written } from "../answers/answers.js";
import type { AnswerWriter } from "../answers/writer.js";
import type { ExportRow } from "../exports/columns.js";
import { type Format, formatOf, refusePages } from "../exports/formats.js";
import { type Exports, type Presented, type Table, sendWritten } from "../exports/send.js";
import { type AsOf, type Clocks, type Moments, readAsOf } from "./as-of.js";
import type { Cursors } from "./cursors.js";
import { type Narrowable, type Segments, textOf } from "../segments/resolve.js";
import type { Reads } from "./in-process.js";
import type { CellQuery } from "./metric-filters.js";
import type { Route } from "../route.js";
import { type Page, type PinnedAsOf, type WalkQuery, openWalk } from "./pages.js";
import { type Range, checkRange, clocksOf, completeText } from "./reading.js";

export interface ReadApi {
  readonly service: Service;
  readonly cursors: Cursors;
  readonly catalogues: CatalogueView;
  readonly exports: Exports;
  readonly answers: AnswerWriter;
  /** Of each key and each session. */
  readonly turns: Turns;
  readonly hashAccount: HashAccount;
  readonly customers: CustomerReader;
  readonly reads: Reads;
  readonly segments: Segments;
}

/** One call. */
export interface Asked<Query> {
  readonly api: ReadApi;
  readonly service: Service;
  readonly ctx: Context;
  readonly access: Access;
  readonly query: Query;
  /** What the answer is wanted as; null: JSON. */
  readonly format: Format | null;
  catalogue(): Promise<Catalogue>;
  /** What is asked for, with what a segment adds. @throws ApiError 422 */
  narrowed<Asked extends Narrowable>(query: Asked): Promise<Asked & Pick<CellQuery, "accounts">>;
}

interface FormatQuery {
  readonly format?: ExportFormat | "json" | undefined;
  readonly segment?: SegmentRef | undefined;
}

interface Declared<Query> {
  readonly path: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly query: Parameters<Query> & z.ZodObject;
  readonly answer: z.ZodType;
}

/** @param answer null: it is on its way already */
export function readRoute<Query extends FormatQuery>(
  { path, summary, description, query: parameters, answer: shape }: Declared<Query>,
  answer: (asked: Asked<Query>) => Promise<object | null>,
): Route<ReadApi> {
  return {
    method: "get",
    path,
    tag: path.startsWith("/v1/metrics/") ? "Metrics" : "Lists",
    summary,
    description,
    right: "read",
    query: parameters,
    status: 200,
    answer: shape,
    exports: true,
    errors: path.includes("{") ? [404, 422] : [422],
    handlers(api) {
      const read = (ctx: Context) => reading(api, ctx);
      api.reads.set(path, read);
      return [requireKey(api.service, { scope: "read" }), read];
    },
  };

  async function reading(api: ReadApi, ctx: Context): Promise<void> {
    const { service, catalogues, turns, segments } = api;
    const access = accessOf(ctx);
    const query = await pinnedQuery(segments, ctx, access);
    const format = formatOf(ctx, query.format);
    const narrowed: Asked<Query>["narrowed"] = (wanted) =>
      segments.narrowed(access, wanted, parameters.shape);
    const catalogue = () => catalogues.of(access.workspace, access.environment);
    const body = await turns.run(access.keyId, async () => {
      // Who has gone meanwhile is not answered.
      if (ctx.res.destroyed) return null;
      return answer({ api, service, ctx, access, query, format, catalogue, narrowed });
    });
    if (body !== null) ctx.body = { status: "success", ...body };
  }

  /** As if it named the revision of the segment: what is made of it, such as cursors, then does. */
  async function pinnedQuery(segments: Segments, ctx: Context, access: Access): Promise<Query> {
    const query = readQuery(ctx, parameters);
    if (query.segment === undefined) return query;
    const text = textOf(await segments.pinned(access, query.segment));
    ctx.set("Segment", text);
    const params = new URLSearchParams(ctx.querystring);
    params.set("segment", text);
    ctx.querystring = params.toString();
    return readQuery(ctx, parameters);
  }
}

/** A question that is answered whole, of all figures. */
export function figuresRoute<Query extends FormatQuery & Moments>(
  declared: Declared<Query>,
  read: (
    asked: Asked<Query> & { readonly asOf: AsOf; readonly clocks: Clocks },
  ) => Promise<Presented | Ingredients>,
): Route<ReadApi> {
  return readRoute(declared, async (asked) => {
    const { api, ctx, access, query, format } = asked;
    const clocks = await clocksOf(api.service, access, "all");
    const asOf = readAsOf(access, query, clocks);
    const found = await read({ ...asked, asOf, clocks });
    const moments = { at: new Date(asOf.at).toISOString(), complete_to: completeText(clocks) };
    const how = [format?.extension ?? null, moments] as const;
    const answer =
      "answer" in found ? await api.answers.write(found, ...how) : written(found, ...how);
    sendWritten(ctx, format, answer, clocks);
    return null;
  });
}

type ListQuery = WalkQuery & FormatQuery & Range;

interface DeclaredList<Query, Position> extends Declared<Query> {
  readonly position: z.ZodType<Position>;
  readonly table: Table;
  /** The account a row is of; left out where rows are of none. */
  readonly accountOf?: (row: ExportRow) => unknown;
  /** What the answer reports. Default: all. */
  readonly figures?: (query: NoInfer<Query>) => Figures;
  /** See `openWalk`. */
  readonly reach?: number;
  readonly momentsOf?: (query: NoInfer<Query>, clocks: Clocks) => Moments;
}

interface List<Row, Position> {
  readonly present: (row: Row) => ExportRow;
  /** @param after the last row of the page before; null: the first page */
  readonly page: (after: Position | null, limit: number) => Promise<Page<Row, Position>>;
  /** Of an export. Default: page by page. */
  readonly all?: () => AsyncIterable<readonly Row[]>;
  /** Of an export; null, and by default: only reading them all says it. */
  readonly count?: () => Promise<number | null>;
}

/** A list that is answered in pages, or as a whole table. */
export function listRoute<Query extends ListQuery, Row, Position>(
  declared: DeclaredList<Query, Position>,
  listOf: (asked: Asked<Query> & { readonly asOf: PinnedAsOf }) => Promise<List<Row, Position>>,
): Route<ReadApi> {
  const { path, table } = declared;
  return readRoute(declared, async (asked) => {
    const { api, ctx, access, format } = asked;
    if (format !== null) refusePages(asked.query);
    checkRange(asked.query);
    const clocks = await clocksOf(api.service, access, declared.figures?.(asked.query));
    const endpoint = [path, ...Object.values(ctx.params)].join(" ");
    const given = { parameters: declared.query, endpoint, clocks, cursors: api.cursors };
    const walk = openWalk({ ...declared, ...asked, ...given });
    const { asOf } = walk;
    const list = await listOf({ ...asked, query: walk.query, asOf });
    const { accountOf } = declared;
    if (format === null) {
      const { rows, last, more } = await list.page(walk.after, walk.limit);
      const shown = rows.map(list.present);
      return {
        data: accountOf ? await withCustomers(api.customers, asked, shown, accountOf) : shown,
        ...more,
        pagination: walk.pagination(last),
        complete_to: completeText(clocks),
      };
    }
    const all = list.all ?? (() => eachPage(list.page));
    const wanted = customersTable(api.customers, asked, table, accountOf);
    await api.exports.send(ctx, format, {
      ...wanted.table,
      asOf,
      clocks,
      count: async () => (await list.count?.()) ?? null,
      async *pages() {
        for await (const rows of all()) {
          yield await wanted.named(rows.map(list.present));
        }
      },
    });
    return null;
  });
}

async function* eachPage<Row, Position>(
  page: List<Row, Position>["page"],
): AsyncGenerator<readonly Row[]> {
  let after: Position | null = null;
  do {
    const { rows, last }: Page<Row, Position> = await page(after, limits.exportPageRows);
    yield rows;
    after = last;
  } while (after !== null);
}
