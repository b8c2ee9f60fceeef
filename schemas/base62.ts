/** Text of digits and letters only: safe in URLs, selected whole by a double click. */
export const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The number the bytes stand for, big-endian, padded to the width the number of bytes needs. */
export function base62(bytes: Uint8Array): string {
  let rest = 0n;
  for (const byte of bytes) rest = (rest << 8n) | BigInt(byte);
  let text = "";
  for (; rest > 0n; rest /= 62n) text = base62Alphabet.charAt(Number(rest % 62n)) + text;
  return text.padStart(Math.ceil((bytes.length * 8) / Math.log2(62)), "0");
}
