/** An invitation: joined by an identity provider or by a new passkey. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { CallError } from "../../api/client.js";
import { addPasskey } from "../../api/passkeys.js";
import { fieldOf } from "../../parts/field.js";
import { Failure } from "../../parts/states.js";
import { loadSession } from "../../state/session.js";
import { Providers } from "./providers.js";
import { takeToken } from "./setup.js";

export function Invite() {
  const { route } = useLocation();
  const [error, setError] = useState<CallError | null>(null);
  const [invitation] = useState(takeToken);
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
  return (
    <>
      <h1>You are invited</h1>
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
          Or with a passkey; your name, as other members see it
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
