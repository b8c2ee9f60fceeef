/** LZ4 for kafkajs, which brings only gzip: frames as the Java client writes and reads them. */
import kafkajs from "kafkajs";
import { compressFrame, decompressFrame } from "lz4-napi";

interface Encoder {
  readonly buffer: Buffer;
}

export function registerLz4(): void {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
    compress: ({ buffer }: Encoder) => compressFrame(buffer),
    decompress: (buffer: Buffer) => decompressFrame(buffer),
  });
}
