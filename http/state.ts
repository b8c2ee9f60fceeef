/** What middleware leaves on `ctx.state` for what comes after it. */
import type { ParameterizedContext } from "koa";
import type { Access } from "../workspaces/keys.js";

declare module "koa" {
  interface DefaultState {
    requestId: string;
    /** Set by `requireKey`. */
    access?: Access;
    /** Set by `requireAdministrator`. */
    administrator?: true;
  }
}

/** Who is calling, on a route behind `requireKey`. */
export function accessOf(ctx: Pick<ParameterizedContext, "state">): Access {
  const { access } = ctx.state;
  if (access === undefined) throw new Error("a route without requireKey asked who is calling");
  return access;
}
