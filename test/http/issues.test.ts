/** What is missing is said to be missing, by the path of its field, wherever zod finds it. */
import { expect } from "chai";
import { z } from "zod";
import { fieldError } from "../../http/body.js";
import { ApiError } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import { malformed } from "../../providers/outcomes.js";

describe("A field that is missing", () => {
  const inner = {
    text: z.string(),
    choice: z.enum(["a", "b"]),
    either: z.union([z.int(), z.null()]),
  };
  const shape = z.object({ outer: z.object(inner) });
  const whole = { text: "", choice: "a", either: 1 };

  for (const name of Object.keys(inner)) {
    it(`should be reported by its path in a body and in a reject: ${name}`, () => {
      const error = errorOf({ ...whole, [name]: undefined });
      const path = `outer.${name}`;
      expect(fieldError(error)).to.include({ param: path, message: `${path} is missing.` });
      expect(malformed(error)).to.include({ reason: "malformed", detail: `${path} is missing` });
      const compiled = z.compile(shape).safeParse({ outer: { ...whole, [name]: undefined } });
      if (compiled.success) throw new Error("nothing is missing");
      expect(malformed(compiled.error)).to.include({ detail: `${path} is missing` });
    });
  }

  it("should be reported by its name in a query", () => {
    let thrown: unknown;
    try {
      readQuery({ querystring: "" }, z.object({ from: z.string() }));
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof ApiError)) throw new Error("nothing is missing");
    expect(thrown).to.include({ param: "from", message: "from is missing" });
  });

  it("should not be reported one that is there", () => {
    expect(fieldError(errorOf({ ...whole, text: null })).message).to.include("expected string");
    const message = "must be a name";
    const own = z.object({ text: z.string(message) }).safeParse({});
    expect(own.error?.issues[0], "a shape's own words").to.include({ message });
  });

  function errorOf(given: object): z.ZodError {
    const { error } = shape.safeParse({ outer: given });
    if (error === undefined) throw new Error("nothing is wrong");
    return error;
  }
});

describe("A field that is wrong", () => {
  const shape = z.strictObject({
    choice: z.enum(["live", "test"]).optional(),
    day: z.iso.date().optional(),
    list: z.array(z.int()).max(2).optional(),
    moment: z.iso.datetime({ offset: true }).optional(),
    number: z.int().min(1).max(200).optional(),
    text: z.string().min(1).max(3).optional(),
  });
  const cases: [given: object, reported: string][] = [
    [{ choice: "Live" }, "choice: must be one of: live, test."],
    [{ day: "tomorrow" }, "day: must be a day as 2026-01-31."],
    [{ list: [1, 2, 3] }, "list: must have at most 2 entries."],
    [{ moment: "2026-01-31" }, "moment: must be a date-time as 2026-01-31T12:00:00Z."],
    [{ number: 0 }, "number: must be at least 1."],
    [{ number: 201 }, "number: must be at most 200."],
    [{ text: "" }, "text: must not be empty."],
    [{ text: "abcd" }, "text: must have at most 3 characters."],
    [{ colour: "red" }, "There is no field colour."],
  ];
  for (const [given, reported] of cases) {
    it(`should be reported by its name and what it must be: ${JSON.stringify(given)}`, () => {
      for (const each of [shape, z.compile(shape)]) {
        const { error } = each.safeParse(given);
        if (error === undefined) throw new Error("nothing is wrong");
        expect(fieldError(error).message).to.equal(reported);
      }
    });
  }
});
