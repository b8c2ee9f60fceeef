/** An invitation: joined by an identity provider or by a new passkey. */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import type { InvitedView } from "../../../schemas/http/session.js";
import { call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { addPasskey } from "../../api/passkeys.js";
import { moment } from "../../format/dates.js";
import { ActionForm } from "../../parts/action-form.js";
import { fieldOf } from "../../parts/field.js";
import { Failure, Skeleton } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
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
  const action = useAction();
  const [invitation] = useState(takeToken);
  const [invited, setInvited] = useState<InvitedView | null>(null);
  const read = async (): Promise<void> => {
    const body = { token: invitation };
    setInvited((await call<One<InvitedView>>("POST", "/v1/session/invitation", { body })).data);
  };
  useEffect(() => {
    if (invitation !== "") action.run(read);
  }, [invitation]);
  const join = async (name: string): Promise<void> => {
    await addPasskey({ invitation, ...(name === "" ? {} : { name }) });
    await loadSession();
    route("/", true);
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
        {action.error === null ? <Skeleton of="Somebody invites you" /> : null}
        <Failure error={action.error} />
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
      <Providers verb="Join with" query={{ invitation }} />
      <ActionForm action={action} class="stack" send={(form) => join(fieldOf(form, "name"))}>
        <label>
          Your name, as other members see it
          <input type="text" name="name" maxLength={200} autocomplete="name" required />
        </label>
        <p>
          <button type="submit" class="button" disabled={action.isBusy}>
            Join with a passkey
          </button>
        </p>
      </ActionForm>
    </>
  );
}
