/** The elements of DER (ITU-T X.690) that a certificate is written with. */

/** Tags of X.680 that are used here. */
export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  /** `[n]` EXPLICIT */
  context: (n: number) => 0xa0 + n,
} as const;

/** One element with its parts inside. */
export function element(elementTag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  if (length >= 0x80 && length < 0x100) lengthBytes.splice(0, 2, 0x81);
  return Buffer.concat([Buffer.from([elementTag, ...lengthBytes]), content]);
}

export function oidElement(dotted: string): Buffer {
  return element(tag.oid, encodeOid(dotted));
}

/** The first two numbers share a byte, the others are written in groups of seven bits. */
function encodeOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return Buffer.from([first * 40 + second, ...rest.flatMap(base128)]);
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
  return groups;
}
