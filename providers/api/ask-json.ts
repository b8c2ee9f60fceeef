/**
 * One answer of a provider's API, JSON or a file, or why there is none, in a sentence for a person.
 */
import { parseJsonText } from "../../schemas/parse.js";
import type { Asked, AskedFor, Downloaded } from "./integration-client.js";
import type { Asker, ProviderApis } from "./provider-api.js";

/** Why there is no answer: for good, or for now. */
export interface Unread {
  readonly for: "good" | "now";
  readonly problem: string;
}

interface Named extends AskedFor {
  /** What is asked for, as the sentence calls it. */
  readonly name: string;
}

/**
 * @returns the value is null where the API has no such thing
 */
export async function askJson(
  apis: ProviderApis,
  asker: Asker,
  question: Named,
  signal: AbortSignal,
): Promise<{ readonly value: unknown } | Unread> {
  const asked = await apis.ask(asker, { ...question, freshForMs: 0 }, signal);
  const of = `The API of ${asker.provider.token}`;
  if (asked.outcome !== "answered") return unread(asked, of, question);
  if (asked.text === null) return { value: null };
  const json = parseJsonText(asked.text);
  return json.ok ? { value: json.value } : { for: "good", problem: `${of} answered no JSON.` };
}

/** @returns the bytes are null where the API has no such file */
export async function askFile(
  apis: ProviderApis,
  asker: Asker,
  question: Named,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer | null } | Unread> {
  const asked = await apis.download(asker, { ...question, headers: { accept: "*/*" } }, signal);
  if (asked.outcome === "answered") return { bytes: asked.answer };
  return unread(asked, `The API of ${asker.provider.token}`, question);
}

function unread(
  asked: Exclude<Asked | Downloaded, { outcome: "answered" }>,
  of: string,
  { name }: Named,
): Unread {
  if (asked.outcome === "silent") {
    const problem =
      "The integration has no key for the provider's API: enter one by Rotate credentials, at " +
      "the end of its page.";
    return { for: "good", problem };
  }
  if (asked.outcome === "refused") {
    return { for: "good", problem: `${of} refused ${name}: ${asked.detail}.` };
  }
  return { for: "now", problem: `${of} cannot be had: ${asked.detail}.` };
}
