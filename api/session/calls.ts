/** The calls of sign-in (`definitions.md`, Dashboard and sign-in), as JSON or as a page. */
import type { Context } from "koa";
import { z } from "zod";
import { requireRight } from "../../http/auth.js";
import { jsonBody, readJson } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import { dataAnswer } from "../../schemas/http/manage.js";
import type { Service } from "../../service.js";
import type { clientDocuments } from "../../workspaces/assistants/clients.js";
import type { HashSubject } from "../../workspaces/members/personal.js";
import type { Operation, Route } from "../route.js";
import { refuseForeignPage } from "./answers.js";
import type { IdentityProvider } from "./providers.js";

/** What the handlers work with. */
export interface SignIn extends Service {
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
  readonly hashSubject: HashSubject;
  /** Programs by the document they name. */
  readonly described: ReturnType<typeof clientDocuments>;
}

export interface SignInCall extends SignIn {
  readonly ctx: Context;
}

/** What a browser is sent to shows people a page, of errors too. */
const page = z.string().meta({ id: "Page", description: "HTML, for the person to read" });

interface Declared<Body extends z.ZodType> {
  /** `self`: who is signed in. */
  readonly right: "self" | null;
  readonly description?: string;
  readonly status?: number;
  readonly errors?: readonly number[];
  readonly body?: Body;
  /** Of `data`. */
  readonly answer: z.ZodType;
  /** It begins a session: a page of another site could sign somebody in as somebody else. */
  readonly ownPage?: true;
  readonly run: (call: SignInCall & { readonly body: z.output<Body> }) => unknown;
}

/** @param path below `/v1/session`, or a whole one of `/auth` */
export function call<Body extends z.ZodType>(
  method: Operation["method"],
  path: string,
  summary: string,
  declared: Declared<Body>,
): Route<SignIn> {
  const { right, description, status = 200, errors = [], body: shape, ownPage, run } = declared;
  return {
    method,
    path: path.startsWith("/auth/") ? path : `/v1/session${path}`,
    tag: "Sign-in",
    summary,
    description,
    right,
    status,
    body: shape,
    answer: dataAnswer(declared.answer),
    errors: [400, 401, 403, 404, ...errors, ...(shape === undefined ? [] : [413, 415, 422])],
    handlers: (api) => [
      ...(right === null ? [] : [requireRight(api, right)]),
      ...(shape === undefined ? [] : [jsonBody()]),
      async (ctx: Context) => {
        if (ownPage === true) refuseForeignPage(ctx);
        refuseParameters(ctx);
        const body = shape === undefined ? undefined : readJson(ctx, shape);
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- unknown where undeclared
        const data = await run({ ...api, ctx, body } as Parameters<typeof run>[0]);
        ctx.status = status;
        ctx.body = { status: "success", data };
      },
    ],
  };
}

/** Where a browser is sent to, and goes on from. */
export function redirect(
  path: string,
  summary: string,
  {
    run,
    ...more
  }: Pick<Operation, "description" | "query" | "errors"> & {
    readonly run: (call: SignInCall) => Promise<void>;
  },
): Route<SignIn> {
  return {
    method: "get",
    path,
    tag: "Sign-in",
    right: null,
    summary,
    status: 302,
    mediaType: "text/html",
    answer: page,
    errorAnswer: page,
    ...more,
    handlers: (api) => [(ctx: Context) => run({ ...api, ctx })],
  };
}
