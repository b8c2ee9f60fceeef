/**
 * A screenshot as a PNG with at most 256 colours: less than half the bytes, and nothing to see. It
 * reads what Chromium writes: 8 bits a channel, without alpha, not interlaced.
 */
import { deflateSync, inflateSync } from "node:zlib";

const signatureBytes = 8;
const coloursMax = 256;
const channels = 3;

export function smallPng(png: Buffer): Buffer {
  const { header, data } = chunksOf(png);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const pixels = unfiltered(inflateSync(data), width * channels, height);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = pixels.readUIntBE(at, channels);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const usual = [...counts].toSorted(([, one], [, other]) => other - one);
  const palette = usual.slice(0, coloursMax).map(([colour]) => colour);
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  // Each row begins with its filter: none.
  const rows = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < width * height; at += 1) {
    const row = Math.floor(at / width);
    rows[at + row + 1] = places.get(pixels.readUIntBE(at * channels, channels)) ?? 0;
  }
  const colours = Buffer.alloc(palette.length * channels);
  for (const [index, colour] of palette.entries()) {
    colours.writeUIntBE(colour, index * channels, channels);
  }
  const indexed = Buffer.from(header);
  indexed[9] = 3;
  return Buffer.concat([
    png.subarray(0, signatureBytes),
    chunk("IHDR", indexed),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunksOf(png: Buffer): { readonly header: Buffer; readonly data: Buffer } {
  let header = Buffer.alloc(0);
  const data: Buffer[] = [];
  for (let at = signatureBytes; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") header = Buffer.from(body);
    if (type === "IDAT") data.push(body);
    at += length + 12;
  }
  return { header, data: Buffer.concat(data) };
}

/** Takes back the filters of rows: each byte was written as its difference to its neighbours. */
function unfiltered(raw: Buffer, rowBytes: number, height: number): Buffer {
  const out = Buffer.alloc(rowBytes * height);
  for (let row = 0; row < height; row += 1) {
    const from = row * (rowBytes + 1);
    const to = row * rowBytes;
    for (let index = 0; index < rowBytes; index += 1) {
      const left = index < channels ? 0 : (out[to + index - channels] ?? 0);
      const up = row === 0 ? 0 : (out[to + index - rowBytes] ?? 0);
      const corner =
        row === 0 || index < channels ? 0 : (out[to + index - rowBytes - channels] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][raw[from] ?? 0] ?? 0;
      out[to + index] = (raw[from + 1 + index] ?? 0) + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const sum = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((near) => Math.abs(sum - near));
  if (toLeft === undefined || toUp === undefined || toCorner === undefined) return 0;
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function nearest(palette: readonly number[], colour: number): number {
  let [best, least] = [0, Infinity];
  for (const [index, one] of palette.entries()) {
    const distance = [16, 8, 0].reduce((sum, shift) => {
      const difference = ((one >> shift) & 255) - ((colour >> shift) & 255);
      return sum + difference * difference;
    }, 0);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

function chunk(type: string, body: Buffer): Buffer {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.write(type, 4, "latin1");
  body.copy(out, 8);
  out.writeUInt32BE(crc(out.subarray(4, 8 + body.length)), body.length + 8);
  return out;
}

/** As PNG has it; Node 20 has none of its own. */
function crc(bytes: Buffer): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}
