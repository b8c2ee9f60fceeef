/** Who belongs to a workspace, and who is invited. */
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { originOf } from "../../http/cookies.js";
import { conflict, forbidden } from "../../schemas/http/errors.js";
import { callerOf, memberOf } from "../../http/state.js";
import {
  type Invitation,
  createInvitation,
  findInvitationById,
  listInvitations,
  revokeInvitation,
} from "../../workspaces/members/invitations.js";
import {
  changeRole,
  findMember,
  isLastOwner,
  leave,
  listMembers,
} from "../../workspaces/members/memberships.js";
import type { Role } from "../../workspaces/members/roles.js";
import {
  changedMember,
  createdInvitation,
  invitation,
  member as memberShape,
  newInvitation,
} from "../../schemas/http/members.js";
import { named, ofWorkspace } from "./calls.js";

const invitations = "/invitations";
const members = "/members";
const one = `${members}/{member}`;

const invitationOf = named("invitation", ({ postgres, vault, of }, id) =>
  findInvitationById(postgres, vault, of.id, id),
);
const memberNamed = named("member", ({ postgres, vault, of }, id) =>
  findMember(postgres, vault, of.id, id),
);

export const invitationRoutes = [
  ofWorkspace.post(invitations, "Invite somebody", {
    right: "manage",
    action: "invitation.created",
    body: newInvitation,
    answer: createdInvitation,
    async run({ postgres, vault, ctx, of: { id }, body: { role, email = null, domain = null } }) {
      requireGrant(ctx, id, role);
      const given = { role, email, domain };
      const made = await createInvitation(postgres, vault, id, given, new Date());
      const url = `${originOf(ctx.req)}/invite#${made.token}`;
      return { ...invitationView(made.invitation), url };
    },
  }),
  ofWorkspace.list(invitations, "Invitations that can be used", {
    right: "manage",
    row: invitation,
    read: ({ postgres, vault, of }, page) =>
      listInvitations(postgres, vault, of.id, page, new Date()),
    view: invitationView,
  }),
  ofWorkspace.delete(`${invitations}/{invitation}`, "Take an invitation back", {
    right: "manage",
    action: "invitation.revoked",
    answer: invitation,
    find: invitationOf,
    async run({ postgres, ctx, of, found }) {
      requireGrant(ctx, of.id, found.role);
      await revokeInvitation(postgres, found.id);
      return invitationView(found);
    },
  }),
];

export const memberRoutes = [
  ofWorkspace.list(members, "Members", {
    right: "look",
    row: memberShape,
    read: ({ postgres, vault, of }, page) => listMembers(postgres, vault, of.id, page),
  }),
  ofWorkspace.patch(one, "Give another role", {
    right: "manage",
    action: "member.changed",
    body: changedMember,
    answer: memberShape,
    async run(call) {
      const { postgres, sessions, ctx, of, body } = call;
      const { role } = body;
      const member = await memberNamed(call);
      requireGrant(ctx, of.id, member.role);
      requireGrant(ctx, of.id, role);
      await postgres.transaction(async (sql) => {
        if (role !== "owner" && (await isLastOwner(sql, of.id, member.id))) throw lastOwner();
        await changeRole(sql, of.id, member.id, role);
      });
      sessions.forget();
      return { ...member, role };
    },
  }),
  ofWorkspace.delete(one, "Remove a member, or leave", {
    // Everybody may leave.
    right: "look",
    action: "member.removed",
    answer: memberShape,
    find: memberNamed,
    async run({ postgres, sessions, ctx, of: { id }, found: member }) {
      if (memberOf(ctx) !== member.id) requireGrant(ctx, id, member.role);
      await postgres.transaction(async (sql) => {
        if (await isLastOwner(sql, id, member.id)) throw lastOwner();
        await leave(sql, id, member.id);
      });
      sessions.forget();
      return member;
    },
  }),
];

/** @throws ApiError 403 */
function requireGrant(ctx: Context, id: string, role: Role): void {
  if (mayGrant(callerOf(ctx), id, role)) return;
  throw forbidden("role_insufficient", `Your role may not decide about the role ${role}.`);
}

function lastOwner() {
  return conflict("last_owner", "A workspace keeps at least one owner.");
}

function invitationView({ workspace: _workspace, ...shown }: Invitation) {
  return shown;
}
