/**
 * A call of the management interface: who may make it, its answer, and its line in the activity
 * log.
 */
import type Router from "@koa/router";
import type { Context, Middleware, Next } from "koa";
import { z } from "zod";
import { type Right, requireRight } from "../../http/auth.js";
import { jsonBody } from "../../http/body.js";
import { readQuery, refuseParameters } from "../../http/query.js";
import { actorOf } from "../../http/state.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import type { Service } from "../../service.js";
import { listQuery } from "../../schemas/http/manage.js";
import type { ListPage } from "../../workspaces/list-page.js";
import type { Cursors } from "../reading/cursors.js";
import { type Stamped, markOf, openList, pageOf } from "./lists.js";

interface Call {
  readonly right: Right;
  /** Its name in the activity log. Left out: it changes nothing. */
  readonly action?: string;
  readonly status?: number;
  /** `run` reads the body itself; left out: it is JSON, for `readJson`. */
  readonly readsBody?: true;
}

/** @param of what the paths are about: a workspace, or the installation */
export class Calls<Of> {
  constructor(
    private readonly router: Router,
    private readonly service: Service,
    private readonly cursors: Cursors,
    private readonly under: string,
    private readonly of: (ctx: Context) => Promise<Of>,
  ) {}

  get(path: string, right: Right, read: (ctx: Context, of: Of) => unknown): void {
    this.#single("GET", path, { right }, read);
  }

  write(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    call: Call & { readonly action: string },
    run: (ctx: Context, of: Of) => unknown,
  ): void {
    this.#single(method, path, call, run);
  }

  /**
   * A list, newest first.
   * @param read up to `rowsMax` rows
   */
  list<Row extends Stamped>(
    path: string,
    right: Right,
    read: (of: Of, page: ListPage, ctx: Context) => Promise<Row[]>,
    view: (row: Row, ctx: Context) => unknown = (row) => row,
  ): void {
    this.answer("GET", path, { right }, async (ctx, of) => {
      const query = readQuery(ctx, listQuery);
      const list = openList(ctx, { cursors: this.cursors, name: path, query });
      const rows = await read(of, pageOf(list), ctx);
      return list.answer(rows, markOf, (row) => view(row, ctx));
    });
  }

  /** @param run returns the whole body of the answer */
  answer(
    method: string,
    path: string,
    { right, action, status = 200, readsBody }: Call,
    run: (ctx: Context, of: Of) => Promise<object>,
  ): void {
    const recorded = action === undefined ? [] : [recordOf(this.service, action)];
    this.router.register(
      this.under + path,
      [method],
      [
        requireRight(this.service, right),
        ...(readsBody === true ? [] : [jsonBody()]),
        ...recorded,
        async (ctx: Context) => {
          const body = await run(ctx, await this.of(ctx));
          ctx.status = status;
          ctx.body = body;
        },
      ],
    );
  }

  #single(method: string, path: string, call: Call, run: (ctx: Context, of: Of) => unknown): void {
    this.answer(method, path, call, async (ctx, of) => {
      refuseParameters(ctx);
      return { status: "success", data: await run(ctx, of) };
    });
  }
}

/** One row for each change; a refused call changed nothing. */
function recordOf({ postgres }: Pick<Service, "postgres">, action: string): Middleware {
  return async (ctx: Context, next: Next) => {
    await next();
    const id = answerWithId.safeParse(ctx.body).data?.data.id ?? null;
    const params: Readonly<Record<string, string>> = ctx.params;
    const { workspace = null, ...things } = params;
    const done = {
      workspace: action === "workspace.created" ? id : workspace,
      actor: actorOf(ctx),
      action,
      id: ctx.state.activity,
      object: Object.values(things).at(-1) ?? id ?? workspace ?? "installation",
    };
    await recordActivity(postgres, { ...done, requestId: ctx.state.requestId }, new Date());
  };
}

const answerWithId = z.object({ data: z.object({ id: z.string() }) });
