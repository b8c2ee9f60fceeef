/** Text of digits and letters only: safe in URLs, selected whole by a double click. */
export const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** So many digits are divided off at once: a remainder and 16 bits stay far below 2^53. */
const digitsAtOnce = 5;
const divisor = 62 ** digitsAtOnce;

/** The number the bytes stand for, big-endian, padded to the width the number of bytes needs. */
export function base62(bytes: Uint8Array): string {
  const limbs = limbsOf(bytes);
  let text = "";
  // Every event and every row has such an id: with bigints this took three times as long.
  for (let first = 0; first < limbs.length;) {
    let rest = 0;
    for (let index = first; index < limbs.length; index++) {
      const value = rest * 0x10000 + (limbs[index] ?? 0);
      const quotient = Math.floor(value / divisor);
      limbs[index] = quotient;
      rest = value - quotient * divisor;
    }
    text = digitsOf(rest) + text;
    while (first < limbs.length && limbs[first] === 0) first++;
  }
  const width = Math.ceil((bytes.length * 8) / Math.log2(62));
  return text.length > width ? text.slice(-width) : text.padStart(width, "0");
}

/** 16 bits each, the most significant first. */
function limbsOf(bytes: Uint8Array): number[] {
  const limbs: number[] = [];
  for (let end = bytes.length; end > 0; end -= 2) {
    limbs.push((end > 1 ? (bytes[end - 2] ?? 0) << 8 : 0) | (bytes[end - 1] ?? 0));
  }
  return limbs.reverse();
}

function digitsOf(number: number): string {
  let text = "";
  for (let rest = number, digit = 0; digit < digitsAtOnce; digit++) {
    text = base62Alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
