/** Sign-in by an identity provider or a passkey. */
import { useState } from "preact/hooks";
import { CallError } from "../../api/client.js";
import { signInByPasskey } from "../../api/passkeys.js";
import { Failure } from "../../parts/states.js";
import { loadSession } from "../../state/session.js";
import { Providers } from "./providers.js";

export function SignIn({ returnTo }: { readonly returnTo: string }) {
  const [error, setError] = useState<CallError | null>(null);
  const begin = async (): Promise<void> => {
    try {
      await signInByPasskey();
      await loadSession();
    } catch (thrown) {
      setError(CallError.of(thrown));
    }
  };
  return (
    <>
      <h1>Sign in</h1>
      <p class="soft">The revenue of all your billing providers, explained down to each event.</p>
      {error === null ? null : <Failure error={error} />}
      <Providers verb="Sign in with" query={{ return_to: returnTo }} />
      <p>
        <button type="button" class="button" onClick={() => void begin()}>
          Sign in with a passkey
        </button>
      </p>
      <p class="soft">
        No passkey yet? Open your invitation, or ask an administrator for one. Whoever runs this
        service gets in by <code>npm run ops -- sign-in-link</code>.
      </p>
    </>
  );
}
