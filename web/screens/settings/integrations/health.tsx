/** How an integration does, in a word with a mark and in a sentence. */
import type { ListedIntegration } from "../../../api/manage-answers.js";
import { words } from "../../../format/names.js";

const states = {
  unfinished: { name: "Secret not entered yet", mark: "waiting" },
  waiting: { name: "Waiting for the first event", mark: "waiting" },
  receiving: { name: "Receiving", mark: "good" },
  refused: { name: "Last call refused", mark: "bad" },
  incomplete: { name: "Event types missing", mark: "bad" },
  quiet: { name: "Quiet for a week", mark: "" },
} as const;

export function Health({ of: { health } }: { readonly of: ListedIntegration }) {
  const { name, mark } = states[health.state];
  return <span class={`status ${mark}`}>{name}</span>;
}

const refusals: Readonly<Record<string, string>> = {
  credentials_missing: "A call came before the secret was entered, and was refused.",
  signature_missing: "The call carried no signature. Is it the provider that called?",
  signature_malformed: "The signature header could not be read.",
  signature_stale: "The signature was too old or from the future. Check the clock of this machine.",
  signature_mismatch:
    "The signature does not match the secret entered here. Rotate the credentials with the " +
    "secret that the provider shows for this endpoint.",
  content_type_unsupported: "The call was not in the provider's format. Did the provider call?",
  paddle_classic_unsupported:
    "The call came from Paddle Classic, which is not supported. Enter the URL as a notification " +
    "destination of Paddle Billing.",
  body_too_large: "The body was larger than 1 MiB.",
  internal_error: "The service failed on it; its log has the reason. The provider sends it again.",
};

/** @param provider its token */
export function refusalWords(code: string, provider: string): string {
  if (provider === "apple" && code === "signature_mismatch") return notOfApple;
  return refusals[code] ?? `${words(code)}.`;
}

const notOfApple =
  "Apple did not sign the call for this app. Compare the bundle id and the Apple ID that were " +
  "entered here with the app's; the log of the service says which check failed.";
