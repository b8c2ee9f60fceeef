/**
 * Bodies: JSON as `JSON.parse` reads it, within a bound on depth, and without the keys by which a
 * body could reach an object's prototype (`definitions.md`, JSON bodies); and the forms that some
 * providers send. Sizes are bounded by the code that reads the bytes.
 */
import { parse } from "secure-json-parse";

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: JsonProblem; readonly message: string };

export type JsonProblem = keyof typeof messages;

/** Objects and arrays within each other. */
export const jsonDepthMax = 64;

/** Never throws. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  try {
    return parseJsonText(utf8.decode(bytes));
  } catch {
    return problem("json_not_utf8");
  }
}

/** Never throws. */
export function parseJsonText(text: string): ParsedJson {
  // The library would drop a byte order mark, which JSON.parse refuses.
  if (text.startsWith("\ufeff")) return problem("json_malformed");
  try {
    const value: unknown = parse(text);
    return isDeeperThan(value) ? problem("json_too_deep") : { ok: true, value };
  } catch (error) {
    return problem(jsonProblemOf(error));
  }
}

/** The value; undefined for what is no JSON within the bounds. */
export function jsonValue(bytes: Uint8Array): unknown {
  const parsed = parseJson(bytes);
  return parsed.ok ? parsed.value : undefined;
}

/** Of what a parser that looks for forbidden keys threw: this one's, or that of `koa-body`. */
export function jsonProblemOf(error: unknown): JsonProblem {
  const isForbidden = error instanceof Error && error.message.includes("forbidden prototype");
  return isForbidden ? "json_forbidden_key" : "json_malformed";
}

/** The parser takes any depth; readers of the value that call themselves rely on this. */
export function isDeeperThan(value: unknown, levels = jsonDepthMax): boolean {
  if (!isObject(value)) return false;
  if (levels === 0) return true;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) if (isObject(part) && isDeeperThan(part, levels - 1)) return true;
  return false;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function problem(code: JsonProblem): Extract<ParsedJson, { readonly ok: false }> {
  return { ok: false, code, message: messages[code] };
}

const messages = {
  json_not_utf8: "The body is not valid UTF-8.",
  json_malformed: "The body is not valid JSON.",
  json_too_deep: `The body is nested deeper than ${jsonDepthMax} levels.`,
  json_forbidden_key: "The body has a key __proto__ or constructor.prototype.",
} as const;

export type ParsedBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

export const contentTypes = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
} as const;

/**
 * Never throws. A form becomes an object of strings. A repeated key is refused, except one that
 * ends in `[]`, which becomes a list.
 */
export function parseBody(
  provider: { readonly bodyType?: "form" },
  bytes: Uint8Array,
): ParsedBody | ParsedJson {
  return provider.bodyType === "form" && !looksLikeObject(bytes)
    ? parseForm(bytes)
    : parseJson(bytes);
}

/** A form may be sent as a JSON object, too: no name of a field begins so. */
function looksLikeObject(bytes: Uint8Array): boolean {
  return bytes[0] === "{".charCodeAt(0);
}

function parseForm(bytes: Uint8Array): ParsedBody {
  try {
    return readPairs(utf8.decode(bytes));
  } catch {
    return refusal("form_malformed", "The body is not a form in UTF-8.");
  }
}

/**
 * Like `URLSearchParams`, which takes twice the time and accepts invalid escapes.
 * @throws where it is malformed
 */
function readPairs(text: string): ParsedBody {
  const value: Record<string, string | string[]> = {};
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const key = unescaped(equals < 0 ? pair : pair.slice(0, equals));
    const part = equals < 0 ? "" : unescaped(pair.slice(equals + 1));
    if (key === "__proto__") return refusal("form_forbidden_key", "The form has a forbidden key.");
    const before = Object.hasOwn(value, key) ? value[key] : undefined;
    if (typeof before === "string") {
      return refusal("form_duplicate_key", `The form has ${key} twice.`);
    }
    if (before !== undefined) before.push(part);
    else value[key] = key.endsWith("[]") ? [part] : part;
  }
  return { ok: true, value };
}

function unescaped(part: string): string {
  const isEscaped = part.includes("%") || part.includes("+");
  return isEscaped ? decodeURIComponent(part.replaceAll("+", " ")) : part;
}

function refusal(code: string, message: string): ParsedBody {
  return { ok: false, code, message };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
