/** What a proven identity leads to: a session of a member or an invited person, or nothing. */
import { conflict, forbidden } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { recordActivity } from "./activity.js";
import { findInvitation, isFor, spendInvitation } from "./invitations.js";
import { hashToken } from "../../schemas/ids.js";
import { type Identity, addIdentity, createUser, findIdentity, mayEnter } from "./users.js";

export interface ProvenIdentity extends Identity {
  readonly label: string;
  readonly sidHash: Buffer | null;
  readonly idToken: string | null;
  readonly name: string;
  readonly email: string | null;
}

interface Entrance {
  readonly invitation: string | null;
  /** The member who adds this identity to their others. */
  readonly member: string | null;
  readonly requestId: string;
  /** The token of the session the browser had. */
  readonly replaces: string | null;
}

/**
 * @returns the token of a new session; null: the present one continues
 * @throws ApiError 401 for an invalid invitation, 403 for somebody not invited
 */
export async function enter(
  { postgres, sessions, vault }: Pick<Service, "postgres" | "sessions" | "vault">,
  identity: ProvenIdentity,
  { invitation: invited, member, requestId, replaces }: Entrance,
): Promise<string | null> {
  const now = new Date();
  return postgres.transaction(async (sql) => {
    const record = (workspace: string | null, actor: string, action: string, object: string) =>
      recordActivity(sql, { workspace, actor, action, object, requestId }, now);

    if (member !== null) {
      const owner = await findIdentity(sql, identity);
      if (owner === null && (await addIdentity(sql, member, identity, now))) {
        await record(null, member, "identity.added", identity.provider);
      } else if (owner !== member) {
        const message = `Another member signs in with this ${identity.label} account.`;
        throw conflict("identity_taken", message);
      }
      return null;
    }

    let user = await findIdentity(sql, identity);
    if (invited !== null) {
      const invitation = await findInvitation(sql, vault, invited, now);
      if (!isFor(invitation, identity.email)) {
        const message = "This invitation is for another e-mail address; sign in with that one.";
        throw forbidden("invitation_for_another", message);
      }
      if (user === null) {
        const { name, email } = identity;
        user = await createUser(sql, vault, { name, email }, now);
        await addIdentity(sql, user, identity, now);
      }
      await spendInvitation(sql, invitation, user, now);
      await record(invitation.workspace, user, "invitation.accepted", invitation.id);
    }
    if (user === null || !(await mayEnter(sql, user))) {
      throw forbidden(
        "not_a_member",
        `This ${identity.label} account belongs to no member. Ask a member for an invitation.`,
      );
    }
    if (replaces !== null) {
      await sql.query("DELETE FROM sessions WHERE token_hash = $1", [hashToken(replaces)]);
    }
    const { provider: by, issuer, subjectHash, sidHash, idToken } = identity;
    const provider = { issuer, subjectHash, sidHash, idToken };
    const token = await sessions.begin(sql, { user, by, provider });
    await record(null, user, "session.started", by);
    return token;
  });
}
