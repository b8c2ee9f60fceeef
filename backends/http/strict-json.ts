/**
 * JSON as it must be where money is in it: valid UTF-8, no key twice, no `__proto__`, bounded
 * depth, no character a database cannot keep, and no digit lost. What one reader takes and another
 * reads differently is how a signed body comes to mean two things.
 *
 * Native JSON.parse reads the value; one scan over the text and one walk over the value look for
 * what it lets through. Only a text with a number too exact for a double is read again by hand.
 */
import { limits } from "../../config.js";
import { ExactNumber } from "../../schemas/exact-number.js";

export type StrictJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: JsonProblem; readonly message: string };

export type JsonProblem =
  | "json_not_utf8"
  | "json_malformed"
  | "json_too_deep"
  | "json_duplicate_key"
  | "json_forbidden_key"
  | "json_forbidden_character"
  | "json_number_too_long";

/** Numbers are JS numbers when that loses nothing, else `ExactNumber`. Never throws. */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return problem("json_not_utf8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return problem("json_malformed");
  }
  const scan = scanText(text);
  if (scan.depth > limits.jsonDepthMax) return problem("json_too_deep");
  if (scan.numberLength > numberLengthMax) return problem("json_number_too_long");
  const walk = { keys: 0, forbiddenKey: false, forbiddenCharacter: false };
  // Only an escape can write a character that valid UTF-8 cannot (NUL may not stand unescaped).
  walkValue(value, text.includes("\\u"), walk);
  if (walk.forbiddenKey) return problem("json_forbidden_key");
  if (walk.forbiddenCharacter) return problem("json_forbidden_character");
  // JSON.parse keeps the last of equal keys, so a repeated one is missing in the value.
  if (walk.keys !== scan.keys) return problem("json_duplicate_key");
  return { ok: true, value: scan.inexact ? readExactly(text) : value };
}

// A byte order mark is no JSON; without this it would be dropped silently.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const messages: Readonly<Record<JsonProblem, string>> = {
  json_not_utf8: "The body is not valid UTF-8.",
  json_malformed: "The body is not valid JSON.",
  json_too_deep: `The body is nested deeper than ${limits.jsonDepthMax} levels.`,
  json_duplicate_key: "The body has an object with the same key twice.",
  json_forbidden_key: "The body has a key __proto__.",
  json_forbidden_character: "The body has a string with a NUL or half a surrogate pair.",
  json_number_too_long: "The body has a number of more than 100 characters.",
};

function problem(code: JsonProblem): StrictJson {
  return { ok: false, code, message: messages[code] };
}

interface Scan {
  /** Keys as written, repeated ones counted again. */
  keys: number;
  depth: number;
  /** Of the longest number. */
  numberLength: number;
  inexact: boolean;
}

/** @param text valid JSON */
function scanText(text: string): Scan {
  const scan: Scan = { keys: 0, depth: 0, numberLength: 0, inexact: false };
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = stringEnd(text, at);
        break;
      case 0x3a: // :
        scan.keys += 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth += 1;
        if (depth > scan.depth) scan.depth = depth;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        break;
      default:
        if (isNumberStart(text.charCodeAt(at))) {
          const end = numberEnd(text, at);
          scan.numberLength = Math.max(scan.numberLength, end - at);
          if (scan.numberLength > numberLengthMax) return scan;
          if (end - at > digitsAlwaysExact || !allDigits(text, at, end)) {
            scan.inexact ||= !isExact(text.slice(at, end));
          }
          at = end - 1;
        }
    }
  }
  return scan;
}

interface Walk {
  keys: number;
  forbiddenKey: boolean;
  forbiddenCharacter: boolean;
}

/** Calls itself: the depth was bounded before. */
function walkValue(value: unknown, lookAtStrings: boolean, walk: Walk): void {
  if (typeof value === "string") {
    if (lookAtStrings) walk.forbiddenCharacter ||= unkeepable.test(value);
  } else if (Array.isArray(value)) {
    for (const item of value) walkValue(item, lookAtStrings, walk);
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      walk.keys += 1;
      walk.forbiddenKey ||= key === "__proto__";
      if (lookAtStrings) walk.forbiddenCharacter ||= unkeepable.test(key);
      walkValue(value[key], lookAtStrings, walk);
    }
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Postgres keeps no NUL; half a surrogate pair has no UTF-8, so two strings would become one. */
// oxlint-disable-next-line no-control-regex
const unkeepable = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const quote = 0x22;
const backslash = 0x5c;
/** No amount needs more; keeps what is done with each number's text short. */
const numberLengthMax = 100;
/** Any integer of 15 digits is a safe integer. */
const digitsAlwaysExact = 15;

/** @param start where the opening quote is; @returns where the closing one is */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isNumberStart(code: number): boolean {
  return code === 0x2d || isDigit(code);
}

function numberEnd(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    // Digits, and + - . e E
    if (
      !isDigit(code) &&
      code !== 0x2b &&
      code !== 0x2d &&
      code !== 0x2e &&
      (code | 0x20) !== 0x65
    ) {
      break;
    }
  }
  return end;
}

function allDigits(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/** True when the double nearest to the token prints as the same decimal number. */
function isExact(token: string): boolean {
  const printed = String(Number(token));
  return printed === token || canonical(printed) === canonical(token);
}

/** `<sign><digits>e<exponent>` with no zero at either end: equal numbers have equal text. */
function canonical(token: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token);
  if (parts === null) return token;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const shift =
    BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${shift}`;
}

/** @param text valid JSON, with nothing in it that is refused, so this need not look again */
function readExactly(text: string): unknown {
  let at = 0;
  return readValue();

  function readValue(): unknown {
    skipSpace();
    const code = text.charCodeAt(at);
    if (code === quote) return readString();
    if (isNumberStart(code)) return readNumber();
    if (code === 0x7b) return readObject();
    if (code === 0x5b) return readArray();
    const word = text.startsWith("null", at)
      ? "null"
      : text.startsWith("true", at)
        ? "true"
        : "false";
    at += word.length;
    return word === "null" ? null : word === "true";
  }

  function readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (at += 1, skipSpace(); text[at] !== "}"; skipSeparator()) {
      const key = readString();
      skipSpace();
      at += 1;
      object[key] = readValue();
    }
    at += 1;
    return object;
  }

  function readArray(): unknown[] {
    const array: unknown[] = [];
    for (at += 1, skipSpace(); text[at] !== "]"; skipSeparator()) array.push(readValue());
    at += 1;
    return array;
  }

  function readString(): string {
    const end = stringEnd(text, at);
    const token = text.slice(at, end + 1);
    at = end + 1;
    return String(JSON.parse(token));
  }

  function readNumber(): number | ExactNumber {
    const end = numberEnd(text, at);
    const token = text.slice(at, end);
    at = end;
    return isExact(token) ? Number(token) : new ExactNumber(token);
  }

  function skipSpace(): void {
    while (" \t\n\r".includes(text[at] ?? "x")) at += 1;
  }

  /** Spaces, and a comma when there is one. */
  function skipSeparator(): void {
    skipSpace();
    if (text[at] === ",") at += 1;
    skipSpace();
  }
}
