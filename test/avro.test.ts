import { expect } from "chai";
import { factCodec, rawEventMetaCodec } from "../schemas/records.js";
import { factOf } from "./facts.js";

describe("Avro records", () => {
  const Payment = {
    payment: "pi_1",
    at: 1,
    amount: 9_007_199_254_740_993n,
    currency: "USD",
    account: null,
    country: "DE",
    type: "subscription" as const,
    tax: null,
    fee: 3n,
    lines: [{ external_id: "prod_1", weight: -5n, item: "" }],
  };
  const fact = factOf(
    { Payment },
    { offset: 7n, native_type: "charge.succeeded", received_at: 1_700_000_000_123, happened_at: 5 },
  );

  it("should keep amounts beyond a double exact, as bytes and as text", () => {
    // avsc makes instances of generated classes; a structured clone is the plain value.
    expect(structuredClone(factCodec.decode(factCodec.encode(fact)))).to.deep.equal(fact);
    expect(structuredClone(factCodec.fromText(factCodec.toText(fact)))).to.deep.equal(fact);
  });

  it("should refuse bytes that are cut short", () => {
    const bytes = factCodec.encode(fact);
    expect(() => factCodec.decode(bytes.subarray(0, bytes.length - 1))).to.throw();
  });

  it("should encode the same metadata to the same bytes, as the seal needs", () => {
    const meta = {
      event_id: "e",
      workspace: "w",
      environment: "test" as const,
      provider: "stripe",
      integration: null,
      form: "webhook" as const,
      native_id: "evt",
      native_type: "t",
      received_at: 1,
      verdict: "signature",
      rates_edition: 1,
    };
    expect(rawEventMetaCodec.encode({ ...meta })).to.deep.equal(rawEventMetaCodec.encode(meta));
  });
});
