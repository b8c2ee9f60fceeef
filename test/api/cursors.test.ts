import { expect } from "chai";
import { z } from "zod";
import { createCursors } from "../../api/reading/cursors.js";
import { openVault } from "../../stores/vault/vault.js";

const scope = ["transactions", "ws_1", "live"];
const schema = z.object({ at: z.number() });

describe("cursors", () => {
  const cursors = createCursors(openVault("ab".repeat(32)));
  const cursor = cursors.write(scope, { at: 5 });

  it("should hold what was written, in every process with the same vault key", () => {
    const sameKey = createCursors(openVault("ab".repeat(32)));
    expect(sameKey.read(scope, cursor, schema)).to.deep.equal({ at: 5 });
  });

  it("should refuse every text in which one character is another", () => {
    for (let index = 0; index < cursor.length; index += 1) {
      const other = cursor[index] === "A" ? "B" : "A";
      const text = cursor.slice(0, index) + other + cursor.slice(index + 1);
      expect(() => cursors.read(scope, text, schema), text).to.throw("not of this list");
    }
  });

  const foreign: readonly (readonly [what: string, scope: readonly string[]])[] = [
    ["another endpoint", ["products", "ws_1", "live"]],
    ["another workspace", ["transactions", "ws_2", "live"]],
    ["another environment", ["transactions", "ws_1", "test"]],
    ["names cut at another place", ["transactions", "ws_1live"]],
  ];
  for (const [what, other] of foreign) {
    it(`should refuse a cursor of ${what}`, () => {
      expect(() => cursors.read(other, cursor, schema))
        .to.throw("not of this list")
        .that.includes({ status: 400, code: "cursor_invalid", param: "cursor" });
    });
  }

  for (const text of [
    "",
    "x",
    "!!!!",
    `${cursor}=`,
    ` ${cursor}`,
    cursor.slice(0, -4),
    "A".repeat(80),
  ]) {
    it(`should refuse ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(() => cursors.read(scope, text, schema)).to.throw("not of this list");
    });
  }

  it("should refuse one made with another vault key, or with other contents", () => {
    const others = createCursors(openVault("cd".repeat(32)));
    expect(() => others.read(scope, cursor, schema)).to.throw("not of this list");
    expect(() => cursors.read(scope, cursor, z.object({ id: z.string() }))).to.throw(
      "not of this list",
    );
  });
});
