/** Sign-in by an identity provider or a passkey. */
import { signInByPasskey } from "../../api/passkeys.js";
import { ActionButton } from "../../parts/action-form.js";
import { Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { loadSession } from "../../state/session.js";
import { Providers } from "./providers.js";

export function SignIn({ returnTo }: { readonly returnTo: string }) {
  const action = useAction();
  const begin = async (): Promise<void> => {
    await signInByPasskey();
    await loadSession();
  };
  return (
    <>
      <h1>Sign in</h1>
      <p class="soft">The revenue of all your billing providers, explained down to each event.</p>
      <Failure error={action.error} />
      <Providers verb="Sign in with" query={{ return_to: returnTo }} />
      <p>
        <ActionButton action={action} act={begin}>
          Sign in with a passkey
        </ActionButton>
      </p>
      <p class="soft">
        No passkey yet? Open your invitation, or ask an administrator for one. Whoever runs this
        service gets in by <code>npm run ops -- sign-in-link</code>.
      </p>
    </>
  );
}
