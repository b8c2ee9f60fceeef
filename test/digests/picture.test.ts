/** The picture of a digest, read back by what PNG says. */
import { expect } from "chai";
import { crc32, inflateSync } from "node:zlib";
import { pictureOf, pictureWidth } from "../../api/digests/picture.js";

/** Its chunks by type, each checked. */
function chunksOf(png: Buffer): Map<string, Buffer> {
  expect(png.subarray(0, 8).toString("hex")).to.equal("89504e470d0a1a0a");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).to.equal(crc32(named));
    chunks.set(named.subarray(0, 4).toString(), named.subarray(4));
    at += 12 + length;
  }
  return chunks;
}

describe("The picture of a digest", () => {
  /** How high each column is, and of which colour, where it stands. */
  function shown(values: readonly number[]): readonly (readonly [color: number, px: number])[] {
    const columns = values.map((mrr, index) => {
      return { day: `2026-01-0${index + 1}`, mrr, isOwn: index === values.length - 1 };
    });
    const chunks = chunksOf(pictureOf(columns));
    const head = chunks.get("IHDR") ?? Buffer.alloc(13);
    const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
    expect(width).to.equal(pictureWidth);
    const lines = inflateSync(chunks.get("IDAT") ?? Buffer.alloc(0));
    expect(lines.length).to.equal((width + 1) * height);
    return values.map((_, index) => {
      const x = Math.round(8 + ((index + 0.3) * (width - 16)) / values.length);
      const pixels = Array.from({ length: height }, (_line, y) => lines[y * (width + 1) + 1 + x]);
      const drawn = pixels.filter((color) => color === 1 || color === 2);
      return [drawn[0] ?? 0, drawn.length] as const;
    });
  }

  it("should have a column for each day, as high as its MRR, the period's in its colour", () => {
    expect(shown([36, 72, 144])).to.deep.equal([
      [1, 36],
      [1, 72],
      [2, 144],
    ]);
  });

  it("should be drawn where there is none, or less than none", () => {
    expect(shown([0, -5, 10])).to.deep.equal([
      [0, 0],
      [0, 0],
      [2, 144],
    ]);
    expect(shown([0])).to.deep.equal([[0, 0]]);
    chunksOf(pictureOf([]));
  });
});
