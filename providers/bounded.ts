/**
 * Every adapter within the bounds of what can be stored. What an event brings is checked here, as
 * it leaves the adapter, and in `schemas/bounds.ts`, once it is a fact: an id of a megabyte or
 * a name with a NUL makes the event a reject (`malformed`) and reaches no store.
 */
import { createHash } from "node:crypto";
import { idBytesMax, isStorable, nameLengthMax, tokenBytesMax } from "../schemas/bounds.js";
import { isObject } from "./fields.js";
import { rejected } from "./outcomes.js";
import type { Decoded, Heading, KeptObject, Provider } from "./provider.js";

export function bounded(provider: Provider): Provider {
  const { keeps, keepsAnswered, needs, asks } = provider;
  /** Bodies that bring something beyond the bounds, and what. */
  const malformed = new WeakMap<object, string>();
  /** All of it, or nothing where any is beyond. */
  const within = <One>(
    body: unknown,
    what: string,
    isWithin: (one: One) => boolean,
    read: () => readonly One[],
  ): readonly One[] => {
    const all = readText(read);
    if (all?.every(isWithin) === true) return all;
    if (isObject(body)) malformed.set(body, what);
    return [];
  };
  return {
    ...provider,
    heading: (body, headers, receivedAt) => {
      const heading = provider.heading(body, headers, receivedAt);
      return heading === null ? null : boundedHeading(heading);
    },
    ...(keeps && { keeps: (body) => within(body, "object", isKept, () => keeps(body)) }),
    ...(keepsAnswered && {
      keepsAnswered: (body, known) =>
        within(body, "object", isKept, () => keepsAnswered(body, known)),
    }),
    ...(needs && {
      needs: (body, known) => within(body, "id", isId, () => needs(body, known)),
    }),
    ...(asks && {
      asks: (body, known) =>
        within(
          body,
          "id",
          ({ path }) => isStorable(path, pathBytesMax),
          () => asks(body, known),
        ),
    }),
    decode: (body, known) => {
      const what = isObject(body) ? malformed.get(body) : undefined;
      if (what !== undefined) return unstorable(what);
      const decoded = provider.decode(body, known);
      const isUnnamed = known?.nativeId?.startsWith(malformedId) === true;
      return isUnnamed && decoded.outcome === "facts" ? unstorable("id") : decoded;
    },
  };
}

/** Instead of an id that is beyond its bound: the event is taken, and rejected when it is read. */
const malformedId = "malformed:";
/** Of a question: several ids, escaped. */
const pathBytesMax = 64 * 1024;

function boundedHeading({ nativeId, nativeType, sandbox, accountHint }: Heading): Heading {
  const digest = () => createHash("sha256").update(nativeId).digest("base64url");
  return {
    nativeId: isStorable(nativeId, nativeIdBytesMax) ? nativeId : malformedId + digest(),
    nativeType: isStorable(nativeType, idBytesMax) ? nativeType : "malformed",
    sandbox,
    accountHint:
      accountHint !== null && isStorable(accountHint, tokenBytesMax) ? accountHint : null,
  };
}

function unstorable(what: string): Decoded {
  return rejected("malformed", `The event brings an ${what} that is too long or cannot be stored`);
}

/** What names no event of its own is reported by several ids and times together. */
const nativeIdBytesMax = 500;

/** @returns null where half a surrogate pair cannot be escaped for a path */
function readText<One>(read: () => readonly One[]): readonly One[] | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

function isId(id: string): boolean {
  return isStorable(id, tokenBytesMax);
}

function isKept({ id, refers, object }: KeptObject): boolean {
  return isId(id) && refers.every(isId) && hasStorableTexts(object);
}

function hasStorableTexts(value: unknown): boolean {
  if (typeof value === "string") return isStorable(value, 4 * nameLengthMax);
  if (!isObject(value)) return true;
  return Object.entries(value).every(
    ([key, part]) => isStorable(key, tokenBytesMax) && hasStorableTexts(part),
  );
}
