/** What figures need is among what is read. */
import { expect } from "chai";
import { providers } from "../harness/provider-cases.js";

describe("The event types that figures need", () => {
  for (const { token, neededTypes, subscribeTo, paymentLookup } of providers.values()) {
    it(`should be ones that ${token} sends and its adapter reads`, () => {
      const types = neededTypes.flatMap(({ types: needed, proof }) => [
        ...needed,
        ...(proof?.purchasesIn ?? []),
      ]);
      expect(subscribeTo).to.include.members([...types, ...(paymentLookup?.purchasesIn ?? [])]);
      const names = neededTypes.map((needed) => needed.for);
      expect(names).to.include.members(["payments", "ends", "refunds"]);
      expect(new Set(names).size).to.equal(names.length);
    });
  }
});
