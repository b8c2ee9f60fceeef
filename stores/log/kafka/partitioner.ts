/**
 * Which partition a key is in: murmur2 of its bytes, as in Kafka's Java client, so that other
 * producers and data teams find keys where they expect them. Never to change: a key keeps its
 * partition. kafkajs computes the same in BigInt.
 */
const seed = 0x9747b28c;
const factor = 0x5bd1e995;
const shift = 24;

export function partitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, "utf8")) & 0x7fffffff) % partitions;
}

function murmur2(bytes: Buffer): number {
  let hash = seed ^ bytes.length;
  const wholeBytes = bytes.length & ~3;
  for (let index = 0; index < wholeBytes; index += 4) {
    let word = Math.imul(bytes.readInt32LE(index), factor);
    word = Math.imul(word ^ (word >>> shift), factor);
    hash = Math.imul(hash, factor) ^ word;
  }
  const left = bytes.length - wholeBytes;
  if (left > 0) {
    for (let index = left - 1; index >= 0; index -= 1) {
      hash ^= (bytes[wholeBytes + index] ?? 0) << (8 * index);
    }
    hash = Math.imul(hash, factor);
  }
  hash = Math.imul(hash ^ (hash >>> 13), factor);
  return hash ^ (hash >>> 15);
}
