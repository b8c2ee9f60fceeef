/**
 * The promise to data teams: every released version of a public schema reads what every other one
 * wrote. `UPDATE_SCHEMAS=1 npm test` writes the text of a version that has none yet; a text that is
 * there never changes.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { releasedText } from "../../stores/log/registry/public-schemas.js";
import { projectFile } from "../../runtime/project-root.js";
import { nameOnce, translator } from "../../schemas/records/avro.js";
import {
  publicSchemas,
  publicTopics,
  releases,
  subjectOf,
} from "../../schemas/records/public-topics.js";

/** By id, for ever: messages that name an id lie in other people's files, too. */
const released: Readonly<Record<number, string>> = {
  1_900_001_001: "8c63bf3d09aba517",
  1_900_001_002: "6019116769a9d9a1",
  1_900_002_001: "64116f7576c74776",
  1_900_002_002: "5134283bd6770b74",
  1_900_002_003: "0ef9b9c3c9971bdc",
  1_900_002_004: "376fd24d5fc2e3ac",
};

describe("the public schemas", () => {
  for (const topic of publicTopics) {
    const versions = releases.filter((release) => release.topic === topic);

    it(`should keep every version of ${topic}, the newest as the code writes it`, () => {
      expect(versions.map(({ version }) => version)).to.deep.equal(
        versions.map((_release, index) => index + 1),
      );
      const newest = versions.at(-1) ?? { topic, version: 0 };
      const file = projectFile("schemas", "released", `${topic}.${newest.version}.avsc`);
      const text = JSON.stringify(nameOnce(publicSchemas[topic]), null, 2);
      if (process.env.UPDATE_SCHEMAS === "1" && !existsSync(file)) {
        writeFileSync(file, `${text}\n`);
      }
      const advice =
        "a changed schema is a new version: add it to schemas/records/public-topics.ts";
      expect(JSON.parse(releasedText(newest)), advice).to.deep.equal(JSON.parse(text));
    });

    it(`should let every version of ${topic} read every other one`, () => {
      const texts = versions.map((release) => releasedText(release));
      for (const writer of texts) {
        for (const reader of texts) {
          expect(problemOf(JSON.parse(writer), JSON.parse(reader))).to.equal(null);
        }
      }
    });
  }

  it("should have one file and one id for each version, and the subjects of consumers", () => {
    const files = readdirSync(projectFile("schemas", "released")).sort();
    const names = releases.map(({ topic, version }) => `${topic}.${version}.avsc`);
    expect(files).to.deep.equal(names.sort());
    expect(publicTopics.map((topic) => subjectOf(topic, ""))).to.deep.equal([
      "revenue.transactions-value",
      "revenue.mrr-movements-value",
    ]);
  });

  it("should never change what was released", () => {
    const now = releases.map((release) => {
      const digest = createHash("sha256").update(releasedText(release)).digest("hex");
      return [release.ownId, digest.slice(0, 16)];
    });
    expect(Object.fromEntries(now)).to.deep.equal(released);
  });

  const channel: Field = { name: "channel", type: "string" };
  /** Which of the two releases cannot read the other. */
  const changes: readonly [what: string, change: Change, blind: readonly ("old" | "new")[]][] = [
    ["a field with a default is added", add({ ...channel, default: "" }), []],
    ["a field without a default is added", add(channel), ["new"]],
    [
      "a field without a default is removed",
      (fields) => fields.filter(({ name }) => name !== "account"),
      ["old"],
    ],
    ["a field is renamed", alter("account", { name: "customer" }), ["new", "old"]],
    [
      "a field is renamed, the old name kept as an alias: only the new one knows it",
      alter("account", { name: "customer", aliases: ["account"] }),
      ["old"],
    ],
    ["a number becomes wider", alter("version", { type: "long" }), ["old"]],
    ["an amount becomes text", alter("gross_amount", { type: "string" }), ["new", "old"]],
    ["a field may be null from now on", alter("account", { type: ["null", "string"] }), ["old"]],
    [
      "a symbol is added where readers have one for what they do not know",
      addSymbol("type", "tip"),
      [],
    ],
    ["a symbol is added where readers have none for it", addSymbol("environment", "demo"), ["old"]],
    [
      "the unit of a time changes",
      alter("timestamp", { type: { type: "long", logicalType: "timestamp-micros" } }),
      ["old"],
    ],
  ];
  for (const [what, change, blind] of changes) {
    const readers =
      blind.length === 0 ? "let all read on" : `see that ${blind.join(" and ")} cannot read`;
    it(`should ${readers} when ${what}`, () => {
      const now = recordOf(releasedText({ topic: "revenue.transactions", version: 1 }));
      const next = { ...now, fields: change(now.fields) };
      const found = [
        ...(problemOf(now, next) === null ? [] : ["new"]),
        ...(problemOf(next, now) === null ? [] : ["old"]),
      ];
      expect(found).to.deep.equal(blind);
    });
  }
});

/** Why what the one schema writes cannot be read by the other, or null. */
function problemOf(writer: unknown, reader: unknown): string | null {
  try {
    translator(writer, reader);
    return null;
  } catch (error) {
    return String(error);
  }
}

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly default?: unknown;
  readonly aliases?: readonly string[];
}

function recordOf(text: string): { readonly fields: Field[] } {
  const schema: { fields: Field[] } = JSON.parse(text);
  return schema;
}

type Change = (fields: readonly Field[]) => readonly Field[];

function add(field: Field): Change {
  return (fields) => [...fields, field];
}

function alter(name: string, change: Partial<Field>): Change {
  return (fields) => fields.map((field) => (field.name === name ? { ...field, ...change } : field));
}

function addSymbol(name: string, symbol: string): Change {
  return (fields) => {
    const field = fields.find((one) => one.name === name);
    const type: { symbols: string[] } = JSON.parse(JSON.stringify(field?.type));
    return alter(name, { type: { ...type, symbols: [...type.symbols, symbol] } })(fields);
  };
}
