/**
 * JSON as it must be where money is in it: valid UTF-8, no key twice, no `__proto__`, bounded
 * depth, no character a database cannot keep, and no digit lost. What one reader takes and another
 * reads differently is how a signed body comes to mean two things.
 *
 * Native JSON.parse reads the value; one scan over the bytes and one walk over the value look for
 * what it lets through. Only a body with a number too exact for a double is read again by hand.
 */
import { limits } from "../config.js";
import { ExactNumber } from "../schemas/money/exact-number.js";

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
  const scan = scanBytes(bytes);
  if (scan.depth > limits.jsonDepthMax) return problem("json_too_deep");
  if (scan.numberLength > numberLengthMax) return problem("json_number_too_long");
  const isEscaped = text.includes("\\u");
  if ((isEscaped || text.includes(forbiddenKey)) && hasKey(value, forbiddenKey)) {
    return problem("json_forbidden_key");
  }
  // Only an escape can write a character that valid UTF-8 cannot (NUL may not stand unescaped).
  if (isEscaped && hasUnkeepable(value)) return problem("json_forbidden_character");
  // JSON.parse keeps the last of equal keys, so a repeated one is missing in the value.
  if (countKeys(value) !== scan.keys) return problem("json_duplicate_key");
  return { ok: true, value: scan.inexact ? readExactly(bytes) : value };
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
  readonly keys: number;
  readonly depth: number;
  /** Of the longest number. */
  readonly numberLength: number;
  readonly inexact: boolean;
}

/** @param bytes valid JSON in UTF-8, all of whose marks are single bytes */
function scanBytes(bytes: Uint8Array): Scan {
  let [keys, depth, open, numberLength] = [0, 0, 0, 0];
  let inexact = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte <= space || byte === comma) continue;
    if (byte === quote) {
      at = stringEnd(bytes, at);
    } else if (byte === colon) {
      keys += 1;
    } else if (byte === openBrace || byte === openBracket) {
      open += 1;
      if (open > depth) depth = open;
    } else if (byte === closeBrace || byte === closeBracket) {
      open -= 1;
    } else if (isNumberStart(byte)) {
      const end = numberEnd(bytes, at);
      if (end - at > numberLength) numberLength = end - at;
      if (numberLength > numberLengthMax) break;
      inexact ||= !isExactAt(bytes, at, end);
      at = end - 1;
    }
  }
  return { keys, depth, numberLength, inexact };
}

/** Of objects however deep. Calls itself, as the two below: the depth was bounded before. */
function countKeys(value: unknown): number {
  if (!isObject(value)) return 0;
  const isArray = Array.isArray(value);
  const parts: readonly unknown[] = isArray ? value : Object.values(value);
  let keys = isArray ? 0 : parts.length;
  for (const part of parts) if (isObject(part)) keys += countKeys(part);
  return keys;
}

function hasKey(value: unknown, key: string): boolean {
  if (!isObject(value)) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((part) => hasKey(part, key));
}

/** In a string or a key. */
function hasUnkeepable(value: unknown): boolean {
  if (typeof value === "string") return unkeepable.test(value);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, part]) => unkeepable.test(key) || hasUnkeepable(part));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const forbiddenKey = "__proto__";
/** Postgres keeps no NUL; half a surrogate pair has no UTF-8, so two strings would become one. */
// oxlint-disable-next-line no-control-regex
const unkeepable = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const letterE = 0x65;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** No amount needs more; keeps what is done with each number's text short. */
const numberLengthMax = 100;
/** Two decimals of so many digits are two doubles, but for the ends of what a double reaches. */
const digitsAlwaysExact = 15;
const exponentAlwaysExact = 290;

/** Longer strings are left to `indexOf`, which is faster but takes its time to begin. */
const nearBytes = 48;

/** @param start where the opening quote is; @returns where the closing one is */
function stringEnd(bytes: Uint8Array, start: number): number {
  let end = start + 1;
  for (const far = end + nearBytes; end < far; end++) {
    if (bytes[end] === quote) return end;
    if (bytes[end] === backslash) end += 1;
  }
  for (end = bytes.indexOf(quote, end); ; end = bytes.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isNumberStart(byte: number): boolean {
  return byte === minus || isDigit(byte);
}

function numberEnd(bytes: Uint8Array, start: number): number {
  let end = start + 1;
  for (; end < bytes.length; end++) {
    const byte = bytes[end] ?? 0;
    // Digits, and + - . e E
    if (
      !isDigit(byte) &&
      byte !== 0x2b &&
      byte !== minus &&
      byte !== 0x2e &&
      (byte | 0x20) !== letterE
    ) {
      break;
    }
  }
  return end;
}

/** Few numbers have to be printed to know it: a body may have hundreds of thousands. */
function isExactAt(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > digitsAlwaysExact) return isExact(textOf(bytes, start, end));
  let [exponent, isExponent] = [0, false];
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if ((byte | 0x20) === letterE) isExponent = true;
    else if (isExponent && isDigit(byte)) exponent = 10 * exponent + byte - zero;
  }
  return exponent <= exponentAlwaysExact || isExact(textOf(bytes, start, end));
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return utf8.decode(bytes.subarray(start, end));
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

/** @param bytes valid JSON, with nothing in it that is refused, so this need not look again */
function readExactly(bytes: Uint8Array): unknown {
  let at = 0;
  return readValue();

  function readValue(): unknown {
    skipSpace();
    const byte = bytes[at] ?? 0;
    if (byte === quote) return readString();
    if (isNumberStart(byte)) return readNumber();
    if (byte === openBrace) return readObject();
    if (byte === openBracket) return readArray();
    return readWord(byte);
  }

  function readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (at += 1, skipSpace(); bytes[at] !== closeBrace; skipSeparator()) {
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
    for (at += 1, skipSpace(); bytes[at] !== closeBracket; skipSeparator()) array.push(readValue());
    at += 1;
    return array;
  }

  function readString(): string {
    const start = at;
    at = stringEnd(bytes, at) + 1;
    return String(JSON.parse(textOf(bytes, start, at)));
  }

  function readNumber(): number | ExactNumber {
    const start = at;
    at = numberEnd(bytes, at);
    const token = textOf(bytes, start, at);
    return isExactAt(bytes, start, at) ? Number(token) : new ExactNumber(token);
  }

  /** `null`, `true` or `false`, known by its first letter. */
  function readWord(first: number): boolean | null {
    const isFalse = first === 0x66;
    at += isFalse ? 5 : 4;
    return first === 0x6e ? null : !isFalse;
  }

  function skipSpace(): void {
    while (at < bytes.length && (bytes[at] ?? 0) <= space) at += 1;
  }

  /** Spaces, and a comma when there is one. */
  function skipSeparator(): void {
    skipSpace();
    if (bytes[at] === comma) at += 1;
    skipSpace();
  }
}
