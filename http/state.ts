/** The fields that middleware sets on `ctx.state`. */
import type { ParameterizedContext } from "koa";
import type { AssistantCaller } from "../workspaces/assistants/assistants.js";
import type { Access } from "../workspaces/keys.js";
import type { Session } from "../workspaces/members/sessions.js";

declare module "koa" {
  interface DefaultState {
    requestId: string;
    caller?: Caller;
    access?: Access;
    /** The id of its row in the activity log, set by a change that can be undone. */
    activity?: string;
  }
}

type State = Pick<ParameterizedContext, "state">;

/** Whose figures are wanted, on a route behind `requireKey`. */
export function accessOf(ctx: State): Access {
  const { access } = ctx.state;
  if (access === undefined) throw new Error("a route without requireKey asked who is calling");
  return access;
}

/** On a route behind `requireRight`. */
export function callerOf(ctx: State): Caller {
  const { caller } = ctx.state;
  if (caller === undefined) throw new Error("a route without requireRight asked who is calling");
  return caller;
}

/** The user's id, on a route behind `requireRight`, also of whose assistant calls; null: none. */
export function memberOf(ctx: State): string | null {
  const caller = callerOf(ctx);
  if (caller.kind === "assistant") return caller.member;
  return caller.kind === "member" ? caller.session.user.id : null;
}

export function actorOf(ctx: State): string {
  return memberOf(ctx) ?? callerOf(ctx).kind;
}

export type Caller =
  | { readonly kind: "key"; readonly access: Access }
  | { readonly kind: "administrator" }
  | AssistantCaller
  | { readonly kind: "member"; readonly session: Session };
