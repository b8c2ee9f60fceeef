/** Passkeys: the browser makes and reads what the service asks and checks. */
import { CallError, call } from "./client.js";

const path = "/v1/session/passkeys";

export async function signInByPasskey(): Promise<void> {
  const { data } = await call<{ data: PublicKeyCredentialRequestOptionsJSON }>(
    "POST",
    `${path}/sign-in/options`,
  );
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data);
  const credential = await navigator.credentials.get({ publicKey }).catch(refused);
  await call("POST", `${path}/sign-in`, { body: { response: jsonOf(credential) } });
}

/** @param options.invitation left out: of who is signed in */
export async function addPasskey(options: {
  readonly invitation?: string;
  readonly name?: string;
}): Promise<void> {
  const { data } = await call<{ data: PublicKeyCredentialCreationOptionsJSON }>(
    "POST",
    `${path}/options`,
    { body: options },
  );
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(data);
  const credential = await navigator.credentials.create({ publicKey }).catch(refused);
  await call("POST", path, { body: { response: jsonOf(credential) } });
}

function jsonOf(credential: Credential | null): object {
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw refusal();
}

function refused(): never {
  throw refusal();
}

function refusal(): CallError {
  return new CallError(0, "passkey_refused", "The browser gave no passkey.", null);
}
