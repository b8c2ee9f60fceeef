/**
 * LZ4 for kafkajs, which brings only gzip: frames as the Java client writes and reads them. Done at
 * once: a batch of a few records takes 4 µs so, and 90 on its way through libuv's threads.
 */
import kafkajs from "kafkajs";
import { compressFrameSync, decompressFrameSync } from "lz4-napi";

interface Encoder {
  readonly buffer: Buffer;
}

export function registerLz4(): void {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
    compress: async ({ buffer }: Encoder) => compressFrameSync(buffer),
    decompress: async (buffer: Buffer) => decompressFrameSync(buffer),
  });
}
