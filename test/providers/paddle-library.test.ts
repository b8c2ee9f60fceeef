/** Paddle's own library reads what the tests and the demo take for Paddle's events. */
import { Webhooks } from "@paddle/paddle-node-sdk";
import { expect } from "chai";
import * as fc from "fast-check";
import { fixturesOf } from "../harness/provider-cases.js";
import { emitPaddle, paddlePlans } from "../model/stories/paddle-story.js";
import { Script } from "../model/stories/story.js";

describe("Paddle's own library", () => {
  for (const { name, body } of fixturesOf("paddle")) {
    it(`should read ${name}`, () => expectRead(body.toString()));
  }

  it("should read the events of any story", () => {
    const property = fc.property(paddlePlans, (plan) => {
      const script = new Script(Date.now());
      emitPaddle(script, plan);
      for (const { body } of script.sent) expectRead(JSON.stringify(body));
    });
    fc.assert(property, { numRuns: 100 });
  });
});

function expectRead(event: string): void {
  expect(Webhooks.fromJson(JSON.parse(event))?.data).to.be.an("object");
}
