/**
 * The calls of the management interface. A declaration says who may make a call, what it takes and
 * answers, and the name of its line in the activity log.
 */
import type { Context, Middleware, Next } from "koa";
import { z } from "zod";
import { type Right, requireRight } from "../../http/auth.js";
import { jsonBody, readJson } from "../../http/body.js";
import { type Parameters as QueryOf, readQuery } from "../../http/query.js";
import { actorOf } from "../../http/state.js";
import type { Provider } from "../../providers/provider.js";
import { notFound } from "../../schemas/http/errors.js";
import {
  type AttentionView,
  dataAnswer,
  listAnswer,
  listQuery,
} from "../../schemas/http/manage.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Service } from "../../service.js";
import type { RunningBackups } from "../../stores/backup/running.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { CatalogueView } from "../../workspaces/catalogue/view.js";
import type { CoverageOf } from "../../workspaces/history/coverage.js";
import type { ListPage } from "../../workspaces/list-page.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import type { NeededOf } from "../../workspaces/needed-events.js";
import { type Workspace, findWorkspace } from "../../workspaces/workspaces.js";
import type { Proofs } from "../proofs/routes.js";
import type { Cursors } from "../reading/cursors.js";
import type { Reads } from "../reading/in-process.js";
import type { Operation, Route } from "../route.js";
import type { DemoProcess } from "./demo/process.js";
import { type Filters, type List, type Pages, type Stamped, openList } from "./lists.js";

/** What the handlers work with. */
export interface Manage extends Service {
  readonly cursors: Cursors;
  readonly catalogues: CatalogueView;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly reads: Reads;
  readonly proofs: Proofs;
  readonly hashAccount: HashAccount;
  readonly neededOf: NeededOf;
  readonly coverageOf: CoverageOf;
  readonly attentionOf: (workspace: string, of: Environment) => Promise<AttentionView>;
  readonly backups: RunningBackups;
  readonly demo: DemoProcess;
}

/** One call; `of` is null where it is about the installation. */
export interface Call<Of = Workspace> extends Manage {
  readonly ctx: Context;
  readonly of: Of;
}

interface Declared<Of, Body extends z.ZodType, Query extends z.ZodObject, Found> {
  readonly right: Right;
  /** Its name in the activity log. Left out: it changes nothing. */
  readonly action?: string;
  readonly status?: number;
  readonly errors?: readonly number[];
  readonly query?: Query;
  readonly body?: Body;
  /** Content types of a body that `run` reads itself. Left out: the body is JSON. */
  readonly bodyTypes?: readonly string[];
  /** Of `data`. */
  readonly answer: z.ZodType;
  /** What the path names, looked for before the body is read. @throws ApiError 404 */
  readonly find?: (call: Call<Of>) => Promise<Found>;
  readonly run: (
    call: Call<Of> & {
      readonly query: z.output<Query>;
      readonly body: z.output<Body>;
      readonly found: Found;
    },
  ) => unknown;
}

interface DeclaredList<Of, Row extends Stamped> {
  readonly right: Right;
  readonly row: z.ZodType;
  readonly filters?: Filtered;
  /** Newest first, up to `rowsMax`. */
  readonly read: (call: Call<Of>, page: ListPage, list: List) => Promise<readonly Row[]>;
  readonly view?: (row: Row, call: Call<Of>) => unknown;
  /** Where it says more than the rows. */
  readonly answer?: z.ZodType;
  readonly more?: (call: Call<Of>) => Promise<object>;
}

type Single<Of> = <Body extends z.ZodType, Query extends z.ZodObject, Found>(
  path: string,
  summary: string,
  declared: Declared<Of, Body, Query, Found>,
) => Route<Manage>;

/** @param findOf what the paths are about: a workspace, or the installation */
function callsUnder<Of>(under: string, findOf: (api: Manage, ctx: Context) => Promise<Of>) {
  const single =
    (method: Operation["method"], usual: number): Single<Of> =>
    (path, summary, { answer, find, run, query = noQuery, status = usual, ...declared }) =>
      routeOf(
        { ...declared, method, path, summary, query, status, answer: dataAnswer(answer) },
        async (call) => {
          const given = readQuery(call.ctx, query);
          const found = await find?.(call);
          const { body: shape, bodyTypes } = declared;
          const isJson = shape !== undefined && bodyTypes === undefined;
          const body = isJson ? readJson(call.ctx, shape) : undefined;
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- unknown if undeclared
          const all = { ...call, query: given, body, found } as Parameters<typeof run>[0];
          return { status: "success", data: await run(all) };
        },
      );

  /** @param run returns the whole body of the answer */
  function routeOf(
    declared: Omit<Operation, "tag" | "errors"> & {
      readonly right: Right;
      readonly action?: string;
      readonly errors?: readonly number[] | undefined;
    },
    run: (call: Call<Of>) => Promise<object>,
  ): Route<Manage> {
    const { action, body, bodyTypes, right, status } = declared;
    const path = `/v1/manage${under}${declared.path}`;
    return {
      ...declared,
      path,
      tag: "Management",
      errors: [
        ...(path.includes("{") ? [404] : []),
        ...(body === undefined ? [] : [413, 415, 422]),
        ...(declared.errors ?? []),
      ],
      handlers: (api) => [
        requireRight(api, right),
        ...(bodyTypes === undefined ? [jsonBody()] : []),
        ...(action === undefined ? [] : [recordOf(api, action)]),
        async (ctx: Context) => {
          const answer = await run({ ...api, ctx, of: await findOf(api, ctx) });
          ctx.status = status;
          ctx.body = answer;
        },
      ],
    };
  }

  return {
    get: single("get", 200),
    post: single("post", 201),
    patch: single("patch", 200),
    delete: single("delete", 200),
    list<Row extends Stamped>(
      path: string,
      summary: string,
      { right, row: shape, read, view = (row) => row, more, ...declared }: DeclaredList<Of, Row>,
    ): Route<Manage> {
      const { query, pinned } = declared.filters ?? filteredBy(listQuery, () => ({}));
      const { answer = listAnswer(shape) } = declared;
      return routeOf(
        { method: "get", path, summary, right, query, answer, status: 200 },
        async (call) => {
          const list = openList(call, path, pinned(call.ctx));
          const rows = await read(call, list.page, list);
          const shown = list.answer(rows, (row) => view(row, call));
          return { ...shown, ...(await more?.(call)) };
        },
      );
    },
  };
}

const noQuery = z.object({});

/**
 * Finds what a path parameter names, such as the goal in `/goals/{goal}`.
 * @param what in words, the first of which is in the code of the error
 */
export function named<Found>(
  parameter: string,
  find: (call: Call, id: string) => Promise<Found | null | undefined>,
  what = parameter,
): (call: Call) => Promise<Found> {
  return async (call) => {
    const found = await find(call, String(call.ctx.params[parameter]));
    if (found === null || found === undefined) {
      throw notFound(`${what.split(" ")[0]}_unknown`, `There is no such ${what}.`);
    }
    return found;
  };
}

interface Filtered {
  readonly query: z.ZodObject;
  readonly pinned: (ctx: Context) => Pages & { readonly filters: Filters };
}

/** @param filters those of the first page count for all */
export function filteredBy<Query extends z.ZodObject>(
  query: Query & QueryOf<z.output<Query> & Pages>,
  filters: (given: z.output<Query>) => Filters,
): Filtered {
  const pinned = (ctx: Context) => {
    const given = readQuery(ctx, query);
    return { limit: given.limit, cursor: given.cursor, filters: filters(given) };
  };
  return { query, pinned };
}

export const ofInstallation = callsUnder("", async () => null);
export const ofWorkspace = callsUnder("/workspaces/{workspace}", async ({ postgres }, ctx) => {
  const found = await findWorkspace(postgres, String(ctx.params.workspace));
  if (found === null) throw notFound("workspace_unknown", "There is no such workspace.");
  return found;
});

/** One row for each change; a refused call changed nothing. */
function recordOf({ postgres }: Pick<Service, "postgres">, action: string): Middleware {
  return async (ctx: Context, next: Next) => {
    await next();
    const id = answerWithId.safeParse(ctx.body).data?.data.id ?? null;
    const params: Readonly<Record<string, string>> = ctx.params;
    const { workspace: under = null, ...things } = params;
    const done = {
      workspace: action === "workspace.created" ? id : under,
      actor: actorOf(ctx),
      action,
      id: ctx.state.activity,
      object: Object.values(things).at(-1) ?? id ?? under ?? "installation",
    };
    await recordActivity(postgres, { ...done, requestId: ctx.state.requestId }, new Date());
  };
}

const answerWithId = z.object({ data: z.object({ id: z.string() }) });
