import { expect } from "chai";
import {
  codec,
  type Codec,
  fingerprintOf,
  nameOf,
  selfDescribing,
  withoutField,
  withoutRecord,
} from "../../schemas/records/avro.js";
import {
  type Fact,
  factCodec,
  factReceipts,
  factRecords,
  incompleteRecords,
} from "../../schemas/records/records.js";
import { subscription } from "../harness/fact-bodies.js";
import { factOf } from "../harness/facts.js";

describe("internal records", () => {
  const fact = factOf({ Sku: { external_id: "prod_1", name: "Atlas" } }, {});
  const incomplete = {
    step: "enrich",
    partition: 3,
    offset: 7n,
    received_at: Date.UTC(2026, 0, 1),
    raw: Buffer.from("sealed"),
  } as const;
  const facts = factRecords.encode(fact);
  const incompletes = incompleteRecords.encode(incomplete);
  const written: readonly [what: string, bytes: Buffer, fingerprint: string][] = [
    ["facts", facts, "ec59911cf0208380"],
    ["incomplete events", incompletes, "d5fabf64fc4b5869"],
  ];
  for (const [what, bytes, fingerprint] of written) {
    it(`should name the schema of ${what}, which changes with the version only`, () => {
      expect(bytes.subarray(0, 2).toString("hex")).to.equal("c301");
      expect(nameOf(bytes.readBigUInt64LE(2))).to.equal(fingerprint);
    });
  }

  it("should be read as they were written", () => {
    expect(facts.subarray(10)).to.deep.equal(factCodec.encode(fact));
    expect(factRecords.decode(facts)).to.deep.equal(factCodec.decode(factCodec.encode(fact)));
    expect({ ...incompleteRecords.decode(incompletes) }).to.deep.equal(incomplete);
  });

  const withoutStandings = withoutRecord(factCodec.type.schema({ exportAttrs: true }), "Standing");
  const withoutTrials = withoutField(withoutStandings, "Subscription", "trial");
  const earlier: readonly [without: string, schema: Parameters<typeof codec>[0], name: string][] = [
    ["standings", withoutStandings, "f6129c64ee6ea50a"],
    ["trials", withoutTrials, "ffc9f23d20f012ed"],
    [
      "the interval of a plan",
      withoutField(withoutTrials, "Item", "plan_interval"),
      "6a8318aa552ac3b7",
    ],
  ];
  const { Subscription: body } = subscription(0, [1_999n], { trial: false });
  const sold = factOf({ Subscription: body }, { received_at: 7 });
  const steps = body.steps.map(({ at, items }) => ({
    at,
    items: items.map((item) => ({ ...item, plan_interval: "unknown" })),
  }));
  for (const [without, schema, name] of earlier) {
    it(`should be read as an earlier version wrote them, without ${without}`, () => {
      const before: Codec<Fact> = codec(schema);
      const bytes = selfDescribing(before).encode(sold);
      expect(nameOf(bytes.readBigUInt64LE(2))).to.equal(name);
      const read = factRecords.decode(bytes);
      expect(factRecords.encode(read)).to.deep.equal(factRecords.encode(sold));
      const expected = { ...sold, body: { Subscription: { ...body, steps } } };
      expect(structuredClone(read)).to.deep.equal(expected);
      expect(factReceipts.decode(bytes)).to.deep.include({ received_at: 7 });
    });
  }
});

describe("Avro's single-object encoding", () => {
  // Avro's own: lang/java, TestSchemaNormalization; share/test/data/schema-tests.txt
  const fingerprints = [
    ["null", "63dd24e7cc258f8a"],
    ["boolean", "9f42fc78a4d4f764"],
    ["int", "7275d51a3f395c8f"],
    ["string", "8f014872634503c7"],
    ["bytes", "4fc016dac3201965"],
  ] as const;
  for (const [schema, fingerprint] of fingerprints) {
    it(`should give "${schema}" the fingerprint the specification gives it`, () => {
      expect(nameOf(fingerprintOf(codec(schema).type))).to.equal(fingerprint);
    });
  }

  const strings = selfDescribing(codec("string"));
  const others: readonly [what: string, bytes: Buffer, named: RegExp][] = [
    ["by another schema", selfDescribing(codec("int")).encode(7), /by schema 7275d51a3f395c8f,/],
    ["without a schema", codec("string").encode("a longer text"), /by no schema,/],
    ["by nothing", Buffer.alloc(0), /by no schema,/],
  ];
  for (const [what, bytes, named] of others) {
    it(`should leave what is written ${what}, and say so`, () => {
      expect(() => strings.decode(bytes))
        .to.throw(named)
        .with.property("message")
        .match(/start/);
    });
  }
});
