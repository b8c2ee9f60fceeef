/** Who belongs to a workspace, and who is invited. */
import type Router from "@koa/router";
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { readJson } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import { conflict, forbidden, notFound } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { callerOf } from "../../http/state.js";
import {
  type Invitation,
  createInvitation,
  findInvitationById,
  listInvitations,
  revokeInvitation,
} from "../../members/invitations.js";
import {
  type Member,
  changeRole,
  findMember,
  isLastOwner,
  leave,
  listMembers,
} from "../../members/memberships.js";
import type { Role } from "../../members/roles.js";
import type { Service } from "../../runtime/service.js";
import { listQuery } from "../../schemas/http/manage.js";
import { changedMember, newInvitation } from "../../schemas/http/members.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { workspaceOf } from "./workspace-of.js";

const invitations = "/workspaces/:workspace/invitations";
const members = "/workspaces/:workspace/members";

export function memberRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres, sessions, vault } = service;

  router.post(invitations, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const { role, email = null, domain = null } = readJson(ctx, newInvitation);
    requireGrant(ctx, id, role);
    const given = { role, email, domain };
    const made = await createInvitation(postgres, vault, id, given, new Date());
    ctx.status = 201;
    const url = `${originOf(ctx.req)}/invite#${made.token}`;
    ctx.body = { status: "success", data: { ...invitationView(made.invitation), url } };
  });

  router.get(invitations, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/invitations", id], query, filters: {} });
    const rows = await listInvitations(postgres, vault, id, pageOf(list), new Date());
    ctx.body = list.answer(rows, markOf, invitationView);
  });

  router.delete(`${invitations}/:invitation`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const found = await findInvitationById(postgres, vault, id, String(ctx.params.invitation));
    if (found === null) throw notFound("invitation_unknown", "There is no such invitation.");
    requireGrant(ctx, id, found.role);
    await revokeInvitation(postgres, found.id);
    ctx.body = { status: "success", data: invitationView(found) };
  });

  router.get(members, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/members", id], query, filters: {} });
    const rows = await listMembers(postgres, vault, id, pageOf(list));
    ctx.body = list.answer(rows, markOf, memberView);
  });

  router.patch(`${members}/:member`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const { role } = readJson(ctx, changedMember);
    const member = await memberOf(ctx, id);
    requireGrant(ctx, id, member.role);
    requireGrant(ctx, id, role);
    await postgres.transaction(async (sql) => {
      if (role !== "owner" && (await isLastOwner(sql, id, member.id))) throw lastOwner();
      await changeRole(sql, id, member.id, role);
    });
    sessions.forget();
    ctx.body = { status: "success", data: memberView({ ...member, role }) };
  });

  router.delete(`${members}/:member`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const caller = callerOf(ctx);
    const member = await memberOf(ctx, id);
    const isOwn = caller.kind === "member" && caller.session.user.id === member.id;
    if (!isOwn) requireGrant(ctx, id, member.role);
    await postgres.transaction(async (sql) => {
      if (await isLastOwner(sql, id, member.id)) throw lastOwner();
      await leave(sql, id, member.id);
    });
    sessions.forget();
    ctx.body = { status: "success", data: memberView(member) };
  });

  /** @throws ApiError 404 */
  async function memberOf(ctx: Context, workspace: string): Promise<Member> {
    const found = await findMember(postgres, vault, workspace, String(ctx.params.member));
    if (found === null) throw notFound("member_unknown", "There is no such member.");
    return found;
  }
}

/** @throws ApiError 403 */
function requireGrant(ctx: Context, workspace: string, role: Role): void {
  if (mayGrant(callerOf(ctx), workspace, role)) return;
  throw forbidden("role_insufficient", `Your role may not decide about the role ${role}.`);
}

function lastOwner() {
  return conflict("last_owner", "A workspace keeps at least one owner.");
}

function invitationView({ id, role, email, domain, created_at: at, expires_at: end }: Invitation) {
  return {
    id,
    role,
    email,
    domain,
    created_at: at.toISOString(),
    expires_at: end.toISOString(),
  };
}

function memberView({ id, name, email, role, created_at: at }: Member) {
  return { id, name, email, role, created_at: at.toISOString() };
}
