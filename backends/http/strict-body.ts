/** A webhook's body as its provider writes it, read strictly: JSON, or a form. */
import { parseStrictJson, type StrictJson } from "./strict-json.js";

export type StrictBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

export const contentTypes = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
} as const;

/**
 * Never throws. A form is an object of strings; a key that is there twice is refused, except one
 * that ends in `[]`: that is how a list is written, and it becomes one.
 */
export function parseBody(
  provider: { readonly bodyType?: "form" },
  bytes: Uint8Array,
): StrictBody | StrictJson {
  return provider.bodyType === "form" ? parseForm(bytes) : parseStrictJson(bytes);
}

function parseForm(bytes: Uint8Array): StrictBody {
  let [pairs, mayHoldNul] = [new URLSearchParams(), false];
  try {
    const text = utf8.decode(bytes);
    mayHoldNul = text.includes("\0") || text.includes("%00");
    // URLSearchParams never refuses; what is no valid escape would come out as another text.
    decodeURIComponent(text.replaceAll("+", " "));
    pairs = new URLSearchParams(text);
  } catch {
    return refusal("form_malformed", "The body is not a form in UTF-8.");
  }
  const value: Record<string, string | string[]> = {};
  for (const [key, text] of pairs) {
    if (key === "__proto__") return refusal("form_forbidden_key", "The form has a forbidden key.");
    const before = Object.hasOwn(value, key) ? value[key] : undefined;
    if (typeof before === "string") {
      return refusal("form_duplicate_key", `The form has ${key} twice.`);
    }
    if (mayHoldNul && (key.includes("\0") || text.includes("\0"))) {
      return refusal("form_forbidden_character", "The form has a NUL character.");
    }
    if (before !== undefined) before.push(text);
    else value[key] = key.endsWith("[]") ? [text] : text;
  }
  return { ok: true, value };
}

function refusal(code: string, message: string): StrictBody {
  return { ok: false, code, message };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
