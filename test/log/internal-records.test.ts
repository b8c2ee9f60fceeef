/**
 * The promise to who upgrades: what an earlier version left on the log is read. A changed schema
 * is kept by `UPDATE_SCHEMAS=1 npm test`; what is kept never changes, as its file's name reports.
 */
import { writeFileSync } from "node:fs";
import { expect } from "chai";
import {
  factRecords,
  incompleteRecords,
  internalSchemas,
  keptSchemas,
} from "../../log/internal-records.js";
import { projectFile } from "../../runtime/project-root.js";
import { codec, nameOnce, readerOf } from "../../schemas/records/avro.js";
import { factCodec, incompleteCodec } from "../../schemas/records/records.js";
import { fingerprintOf, nameOf, selfDescribing } from "../../schemas/records/single-object.js";
import { factOf } from "../harness/facts.js";

describe("internal records", () => {
  for (const { topic, schema } of internalSchemas) {
    it(`should keep every schema that wrote ${topic}, the newest as the code writes it`, () => {
      const present = nameOf(fingerprintOf(codec(schema).type));
      const newest = keptSchemas(topic).at(-1);
      if (process.env.UPDATE_SCHEMAS === "1" && newest?.fingerprint !== present) {
        const name = `${topic}.${(newest?.number ?? 0) + 1}.${present}.avsc`;
        const text = JSON.stringify(nameOnce(schema), null, 2);
        writeFileSync(projectFile("schemas", "kept", name), `${text}\n`);
      }
      const kept = keptSchemas(topic);
      const advice = "a changed schema is kept beside the earlier ones: UPDATE_SCHEMAS=1 npm test";
      expect(kept.at(-1)?.fingerprint, advice).to.equal(present);
      expect(kept.map(({ number }) => number)).to.deep.equal(kept.map((_, index) => index + 1));
      const reader = codec<unknown>(schema);
      for (const { fingerprint, schema: earlier } of kept) {
        const { writer } = readerOf(earlier, reader);
        expect(nameOf(fingerprintOf(writer)), "a kept schema never changes").to.equal(fingerprint);
      }
    });
  }

  it("should read a fact with its schema in front, and one from before there was one", () => {
    const fact = factOf({ Sku: { external_id: "prod_1", name: "Atlas" } }, {});
    const plain = factCodec.encode(fact);
    const bytes = factRecords.encode(fact);
    expect(bytes.subarray(0, 2).toString("hex")).to.equal("c301");
    expect(bytes.subarray(10)).to.deep.equal(plain);
    expect(factRecords.decode(bytes)).to.deep.equal(factCodec.decode(plain));
    expect(factRecords.decode(plain)).to.deep.equal(factCodec.decode(plain));
  });

  it("should read an incomplete event both ways, too", () => {
    const incomplete = {
      step: "adorn",
      partition: 3,
      offset: 7n,
      received_at: Date.UTC(2026, 0, 1),
      raw: Buffer.from("sealed"),
    } as const;
    const bytes = incompleteRecords.encode(incomplete);
    for (const lying of [bytes, incompleteCodec.encode(incomplete)]) {
      expect({ ...incompleteRecords.decode(lying) }).to.deep.equal(incomplete);
    }
  });
});

describe("Avro's single-object encoding", () => {
  const id = { name: "id", type: "string" } as const;
  const first = { type: "record", name: "Thing", fields: [id] } as const;
  const note = { name: "note", type: ["null", "string"], default: null } as const;
  const second = { type: "record", name: "Thing", fields: [note, id] } as const;
  const third = { type: "record", name: "Thing", fields: [id, note] } as const;
  const before = selfDescribing(codec(first), () => [first]);
  const present = selfDescribing(codec(third), () => [first, second]);

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

  it("should read what every earlier schema wrote", () => {
    const between = selfDescribing(codec(second), () => []);
    const written = [
      before.encode({ id: "a" }),
      between.encode({ id: "b", note: "c" }),
      codec(first).encode({ id: "d" }),
    ];
    expect(written.map((bytes) => ({ ...present.decode(bytes) }))).to.deep.equal([
      { id: "a", note: null },
      { id: "b", note: "c" },
      { id: "d", note: null },
    ]);
  });

  it("should leave what a later schema wrote, and say so", () => {
    const later = present.encode({ id: "a", note: "b" });
    expect(() => before.decode(later)).to.throw(/this version does not know: start the version/);
  });

  it("should refuse at once what it could not resolve", () => {
    const other = { type: "record", name: "Thing", fields: [{ name: "id", type: "int" }] } as const;
    const unable = selfDescribing(codec(third), () => [other]);
    expect(() => unable.decode(before.encode({ id: "a" }))).to.throw(/cannot|incompatible|read/i);
  });
});
