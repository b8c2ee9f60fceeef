/** Who belongs to a workspace, and who is invited. */
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { readJson } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import { conflict, forbidden, notFound } from "../../schemas/http/errors.js";
import { callerOf, memberOf } from "../../http/state.js";
import {
  type Invitation,
  createInvitation,
  findInvitationById,
  listInvitations,
  revokeInvitation,
} from "../../workspaces/members/invitations.js";
import {
  type Member,
  changeRole,
  findMember,
  isLastOwner,
  leave,
  listMembers,
} from "../../workspaces/members/memberships.js";
import type { Role } from "../../workspaces/members/roles.js";
import type { Service } from "../../service.js";
import { changedMember, newInvitation } from "../../schemas/http/members.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";

const invitations = "/invitations";
const members = "/members";

export function memberRoutes(
  { postgres, sessions, vault }: Service,
  calls: Calls<Workspace>,
): void {
  const invited = { right: "manage", action: "invitation.created", status: 201 } as const;
  calls.write("POST", invitations, invited, async (ctx, { id }) => {
    const { role, email = null, domain = null } = readJson(ctx, newInvitation);
    requireGrant(ctx, id, role);
    const given = { role, email, domain };
    const made = await createInvitation(postgres, vault, id, given, new Date());
    const url = `${originOf(ctx.req)}/invite#${made.token}`;
    return { ...invitationView(made.invitation), url };
  });

  calls.list(
    invitations,
    "manage",
    ({ id }, page) => listInvitations(postgres, vault, id, page, new Date()),
    invitationView,
  );

  const revoked = { right: "manage", action: "invitation.revoked" } as const;
  calls.write("DELETE", `${invitations}/:invitation`, revoked, async (ctx, { id }) => {
    const found = await findInvitationById(postgres, vault, id, String(ctx.params.invitation));
    if (found === null) throw notFound("invitation_unknown", "There is no such invitation.");
    requireGrant(ctx, id, found.role);
    await revokeInvitation(postgres, found.id);
    return invitationView(found);
  });

  calls.list(members, "look", ({ id }, page) => listMembers(postgres, vault, id, page));

  const one = `${members}/:member`;
  const change = { right: "manage", action: "member.changed" } as const;
  calls.write("PATCH", one, change, async (ctx, { id }) => {
    const { role } = readJson(ctx, changedMember);
    const member = await named(ctx, id);
    requireGrant(ctx, id, member.role);
    requireGrant(ctx, id, role);
    await postgres.transaction(async (sql) => {
      if (role !== "owner" && (await isLastOwner(sql, id, member.id))) throw lastOwner();
      await changeRole(sql, id, member.id, role);
    });
    sessions.forget();
    return { ...member, role };
  });

  // Everybody may leave.
  const remove = { right: "look", action: "member.removed" } as const;
  calls.write("DELETE", one, remove, async (ctx, { id }) => {
    const member = await named(ctx, id);
    if (memberOf(ctx) !== member.id) requireGrant(ctx, id, member.role);
    await postgres.transaction(async (sql) => {
      if (await isLastOwner(sql, id, member.id)) throw lastOwner();
      await leave(sql, id, member.id);
    });
    sessions.forget();
    return member;
  });

  /** @throws ApiError 404 */
  async function named(ctx: Context, workspace: string): Promise<Member> {
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

function invitationView({ workspace: _workspace, ...shown }: Invitation) {
  return shown;
}
