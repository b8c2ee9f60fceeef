import { expect } from "chai";
import { rowsIn } from "../backends/backup/postgres-part.js";

describe("The rows of a table in a backup", () => {
  // What Postgres leaves as it is inside of JSON and other readers of lines end one at.
  const lines = [
    '{"name":"one\u2028two\u2029\u0085three\u000b\u000c"}',
    "{}",
    '{"name":"Ä\u{1f600}"}',
  ];
  const bytes = Buffer.from(`${lines.join("\n")}\n`);

  it("should end at a line feed and nowhere else, wherever the file is cut", async () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      const read: string[] = [];
      for await (const rows of rowsIn(streamed(chunks))) read.push(...rows);
      expect(read, `cut at ${at}`).to.deep.equal(lines);
    }
  });
});

async function* streamed(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
