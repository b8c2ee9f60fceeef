import { expect } from "chai";
import { factCodec, rawEventCodec, rawEventMetaCodec } from "../../schemas/records/records.js";
import { factOf, metaOf } from "../harness/facts.js";

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
    record: "",
    invoiced: false,
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
    const meta = metaOf({ environment: "test", received_at: 1 });
    expect(rawEventMetaCodec.encode({ ...meta })).to.deep.equal(rawEventMetaCodec.encode(meta));
  });

  it("should keep the first receipt of a raw event that is repeated", () => {
    const raw = { meta: metaOf({ first_received_at: 1_600_000_000_000 }), sealed: Buffer.of(1) };
    const read = rawEventCodec.decode(rawEventCodec.encode(raw));
    expect(structuredClone(read)).to.deep.equal(structuredClone(raw));
  });
});
