/**
 * How long the texts of an event may be and what they may hold. Postgres stores no NUL, and half a
 * surrogate pair has no UTF-8, so that two texts would become one.
 */

/** Bytes of UTF-8: what a provider, or a sender, calls a thing by. */
export const idBytesMax = 255;
/** The same of accounts and subscriptions: Google names no bound for its purchase tokens. */
export const tokenBytesMax = 2_048;
/** Characters a person reads. */
export const nameLengthMax = 1_000;

/** Whether it has at most so many bytes of UTF-8, and no character that cannot be stored. */
export function isStorable(text: string, bytesMax: number): boolean {
  // No character of UTF-16 takes more than three bytes, so short texts need not be measured.
  const fits = text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax;
  return fits && hasOnlyCharacters(text);
}

export function isStorableName(text: string): boolean {
  return text.length <= nameLengthMax && hasOnlyCharacters(text);
}

/** None that Postgres cannot store or UTF-8 cannot write. */
export function hasOnlyCharacters(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** A sentence that may quote what an event brought (its type), so that any store keeps it. */
export function shown(sentence: string): string {
  // Half a surrogate pair, also one that was cut, becomes U+FFFD in UTF-8.
  const text = Buffer.from(sentence.slice(0, sentenceLengthMax)).toString();
  return text.replaceAll("\0", "\uFFFD");
}

const sentenceLengthMax = 500;
