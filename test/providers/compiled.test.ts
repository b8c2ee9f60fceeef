/** Shapes compile when they are first read by: a start that compiled all would wait for all. */
import { expect } from "chai";
import { z } from "zod";
import { compiled } from "../../providers/fields.js";

describe("A compiled shape", () => {
  let looks: number;
  const shape = () =>
    z.object({
      get amount() {
        looks += 1;
        return z.int();
      },
    });
  beforeEach(() => (looks = 0));

  it("should not be looked into before something is read by it", () => {
    const reading = compiled(shape());
    expect(looks).to.equal(0);
    expect(reading.safeParse({ amount: 1 }).data).to.deep.equal({ amount: 1 });
    expect(looks).to.be.greaterThan(0);
  });

  it("should refuse as the shape does", () => {
    const reading = compiled(shape());
    for (const wrong of [{ amount: "1" }, {}, null]) {
      const { error } = reading.safeParse(wrong);
      expect(error?.issues).to.deep.equal(shape().safeParse(wrong).error?.issues);
      expect(() => reading.parse(wrong)).to.throw(z.ZodError);
    }
  });
});
