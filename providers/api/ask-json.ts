/** One answer of a provider's API as JSON, or why there is none, in a sentence for a person. */
import { parseJsonText } from "../../schemas/json.js";
import type { AskedFor } from "./integration-client.js";
import type { Asker, ProviderApis } from "./provider-api.js";

/** Why there is no answer: for good, or for now. */
export interface Unread {
  readonly for: "good" | "now";
  readonly problem: string;
}

/**
 * @param question.name what is asked for, as the sentence calls it
 * @returns the value is null where the API has no such thing
 */
export async function askJson(
  apis: ProviderApis,
  asker: Asker,
  question: AskedFor & { readonly name: string },
  signal: AbortSignal,
): Promise<{ readonly value: unknown } | Unread> {
  const { name } = question;
  const asked = await apis.ask(asker, { ...question, freshForMs: 0 }, signal);
  const of = `The API of ${asker.provider.token}`;
  if (asked.outcome === "silent") {
    return { for: "good", problem: "The integration has no key for the provider's API." };
  }
  if (asked.outcome === "refused") {
    return { for: "good", problem: `${of} refused ${name}: ${asked.detail}.` };
  }
  if (asked.outcome === "trouble") {
    return { for: "now", problem: `${of} cannot be had: ${asked.detail}.` };
  }
  if (asked.text === null) return { value: null };
  const json = parseJsonText(asked.text);
  return json.ok ? { value: json.value } : { for: "good", problem: `${of} answered no JSON.` };
}
