/** How a batch is cut into lines, and that others get their turn meanwhile. */
import { expect } from "chai";
import { limits } from "../../config.js";
import { inTurns, splitLines } from "../../ingest/lines.js";

describe("The lines of a batch", () => {
  const cases: readonly (readonly [title: string, body: string, lines: readonly string[]])[] = [
    ["nothing", "", []],
    ["blank lines alone", "\n \r\n\t\n", []],
    ["one without an end", "a", ["a"]],
    ["LF and CRLF", "a\nb\r\nc\r\n", ["a", "b", "c"]],
    ["blank lines between and before others", "\n\na\n \nb", ["", "", "a", " ", "b"]],
    ["blank lines at the end", "a\nb\n\n \r\n", ["a", "b"]],
    ["a line as it came, spaces and all", "a \nb  \r\n\n", ["a ", "b  "]],
    ["spaces at the very end", "a\nb  ", ["a", "b  "]],
  ];
  for (const [title, body, lines] of cases) {
    it(`should be cut from ${title}`, () => {
      expect(splitLines(Buffer.from(body)).map(String)).to.deep.equal(lines);
    });
  }

  it("should be cut no further than to say that they are too many", () => {
    const body = Buffer.from(`${"\n".repeat(2 * limits.batchLinesMax)}a`);
    expect(splitLines(body)).to.have.length(limits.batchLinesMax + 1);
    const most = Buffer.from(`${"\n".repeat(limits.batchLinesMax - 1)}a\n\n`);
    expect(splitLines(most)).to.have.length(limits.batchLinesMax);
  });

  for (const [title, line, count, turns] of [
    ["many small lines", "a", 350, 3],
    ["a few of a mebibyte", "a".repeat(1024 * 1024), 6, 5],
    ["lines that are neither", "a".repeat(8 * 1024), 33, 4],
  ] as const) {
    it(`should let others run between ${title}`, async () => {
      let [left, turnsTaken]: [number, number] = [count, 0];
      const lines = Array.from({ length: count }, () => Buffer.from(line));
      const others = () => {
        if (left === 0) return;
        turnsTaken += 1;
        setImmediate(others);
      };
      setImmediate(others);
      for await (const each of inTurns(lines)) left -= each.length > 0 ? 1 : 0;
      expect([left, turnsTaken]).to.deep.equal([0, turns]);
    });
  }
});
