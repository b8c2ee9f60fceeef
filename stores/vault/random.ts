import { randomInt } from "node:crypto";
import { base62Alphabet } from "../../schemas/ids.js";

/** About 5.95 bits a character; 22 hold more than a UUID, 32 more than 190 bits. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) text += base62Alphabet.charAt(randomInt(base62Alphabet.length));
  return text;
}
