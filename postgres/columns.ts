/** How columns become values where the drivers' own ways differ (see postgres.ts). */
export const columns = {
  int8: (text: string): bigint => BigInt(text),
  date: (text: string): string => text,
  /** `\x` and hexadecimal digits. */
  bytea: (text: string): Buffer => Buffer.from(text.slice(2), "hex"),
} as const;
