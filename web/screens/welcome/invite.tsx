/** An invitation: joined by an identity provider or by a new passkey. */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import type { InvitedView } from "../../../schemas/http/session.js";
import { CallError, call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { addPasskey } from "../../api/passkeys.js";
import { moment } from "../../format/dates.js";
import { fieldOf } from "../../parts/field.js";
import { Failure, Skeleton } from "../../parts/states.js";
import { loadSession } from "../../state/session.js";
import { Providers } from "./providers.js";
import { takeToken } from "./setup.js";

const roles = {
  viewer: "a viewer, who reads everything",
  admin: "an admin, who also connects providers and makes keys",
  owner: "an owner, who also decides about members and the workspace",
} as const;

export function Invite() {
  const { route } = useLocation();
  const [error, setError] = useState<CallError | null>(null);
  const [invitation] = useState(takeToken);
  const [invited, setInvited] = useState<InvitedView | null>(null);
  const read = async (): Promise<void> => {
    try {
      const body = { token: invitation };
      setInvited((await call<One<InvitedView>>("POST", "/v1/session/invitation", { body })).data);
    } catch (thrown) {
      setError(CallError.of(thrown));
    }
  };
  useEffect(() => {
    if (invitation !== "") void read();
  }, [invitation]);
  const join = async (name: string): Promise<void> => {
    try {
      await addPasskey({ invitation, ...(name === "" ? {} : { name }) });
      await loadSession();
      route("/", true);
    } catch (thrown) {
      setError(CallError.of(thrown));
    }
  };
  if (invitation === "") {
    return (
      <>
        <h1>Invitation</h1>
        <p>This page needs the whole link of your invitation; ask for it again.</p>
      </>
    );
  }
  if (invited === null) {
    return (
      <>
        <h1>Invitation</h1>
        {error === null ? <Skeleton of="Somebody invites you" /> : <Failure error={error} />}
      </>
    );
  }
  return (
    <>
      <h1>You are invited</h1>
      <p>
        {invited.inviter === null ? "This link lets you" : `${invited.inviter} invites you to`} join
        the workspace <strong>{invited.workspace}</strong> as {roles[invited.role]}.
      </p>
      <p class="soft small">The link works once, until {moment(invited.expires_at)}.</p>
      {error === null ? null : <Failure error={error} />}
      <Providers verb="Join with" query={{ invitation }} />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void join(fieldOf(event.currentTarget, "name"));
        }}
      >
        <label>
          Your name, as other members see it
          <input type="text" name="name" maxLength={200} autocomplete="name" required />
        </label>
        <p>
          <button type="submit" class="button">
            Join with a passkey
          </button>
        </p>
      </form>
    </>
  );
}
