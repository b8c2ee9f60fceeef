/** Query parameters: an unknown, repeated or invalid one is 400, never ignored. */
import type { Context } from "koa";
import { z } from "zod";
import { issueText } from "../schemas/issues.js";
import { malformed } from "../schemas/http/errors.js";

/** @throws ApiError 400 for a parameter of a call that takes none */
export function refuseParameters(ctx: Pick<Context, "querystring">): void {
  readQuery(ctx, none);
}

const none = z.object({});

/** An object; unknown names are refused whether it is strict or not. */
export type Parameters<Query> = z.ZodType<Query> & { readonly shape: z.ZodRawShape };

/** @throws ApiError 400 with the name of the first invalid parameter */
export function readQuery<Query>(
  ctx: Pick<Context, "querystring">,
  schema: Parameters<Query>,
): Query {
  const given: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(ctx.querystring)) {
    if (!Object.hasOwn(schema.shape, name)) {
      const known = Object.keys(schema.shape).join(", ") || "none";
      const message = `Unknown parameter ${name}; known: ${known}.`;
      throw malformed("parameter_unknown", message, name);
    }
    if (name in given) {
      throw malformed("parameter_repeated", `The parameter ${name} is given twice.`, name);
    }
    given[name] = value;
  }
  const result = schema.safeParse({ ...given });
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = String(issue?.path[0] ?? "");
  const message = issue === undefined ? `${name} is not valid` : issueText(name, issue);
  throw malformed("parameter_invalid", message, name);
}
