/**
 * MRR of the last days as a PNG: columns without text, which mail programs show where they show no
 * SVG. Columns are whole pixels, so that drawing them needs no library. Pure.
 */
import { crc32, deflateSync } from "node:zlib";

export interface Column {
  /** YYYY-MM-DD */
  readonly day: string;
  /** Of its end, in the base currency. */
  readonly mrr: number;
  /** In the period of the digest, not before it. */
  readonly isOwn: boolean;
}

export const pictureWidth = 600;
const height = 160;
const marginPx = 8;
/** Of its column, which others stand beside. */
const gapShare = 0.25;

/** Places in the palette. */
const [paper, before, own, ground] = [0, 1, 2, 3];
const palette = Buffer.from("ffffff c3c9d4 2f5fd0 8a93a3".replaceAll(" ", ""), "hex");

export function pictureOf(columns: readonly Column[]): Buffer {
  const pixels = new Uint8Array(pictureWidth * height).fill(paper);
  const fill = (left: number, top: number, right: number, bottom: number, color: number) => {
    for (let y = top; y < bottom; y += 1) {
      pixels.fill(color, y * pictureWidth + left, y * pictureWidth + right);
    }
  };
  const bottom = height - marginPx;
  const most = Math.max(0, ...columns.map(({ mrr }) => mrr)) || 1;
  const step = (pictureWidth - 2 * marginPx) / Math.max(1, columns.length);
  for (const [index, { mrr, isOwn }] of columns.entries()) {
    const left = Math.round(marginPx + index * step);
    const right = Math.round(marginPx + (index + 1 - gapShare) * step);
    const top = bottom - Math.round((Math.max(0, mrr) / most) * (bottom - marginPx));
    fill(left, top, right, bottom, isOwn ? own : before);
  }
  fill(marginPx, bottom, pictureWidth - marginPx, bottom + 1, ground);
  return png(pixels);
}

/** As PNG has it (ISO/IEC 15948): a palette, and each line after a byte for its filter, none. */
function png(pixels: Uint8Array): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(pictureWidth, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits, by palette.
  head.set([8, 3, 0, 0, 0], 8);
  const lines = Buffer.alloc((pictureWidth + 1) * height);
  for (let y = 0; y < height; y += 1) {
    const line = pixels.subarray(y * pictureWidth, (y + 1) * pictureWidth);
    lines.set(line, y * (pictureWidth + 1) + 1);
  }
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
