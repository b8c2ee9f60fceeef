/** `UPDATE_OPENAPI=1 npm test` writes schemas/openapi.json anew; `npm run format` lays it out. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { openApiDocument } from "../../api/docs/openapi.js";
import { projectFile } from "../../runtime/project-root.js";

const file = projectFile("schemas", "openapi.json");

describe("the OpenAPI document", () => {
  const document = openApiDocument();

  it("should be committed as the schemas say it is now", () => {
    // As parsed: the formatter has its own mind about the layout.
    const text = JSON.stringify(document, null, 2);
    if (process.env.UPDATE_OPENAPI === "1") writeFileSync(file, text);
    expect(JSON.parse(readFileSync(file, "utf8"))).to.deep.equal(JSON.parse(text));
  });

  it("should refer only to shapes it has", () => {
    const text = JSON.stringify(document);
    const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(names).to.include("Transaction");
    expect(Object.keys(document.components.schemas)).to.include.members(names);
    expect(text).to.not.include("$defs");
  });

  it("should give every operation an answer, and its errors in one envelope", () => {
    for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
      const statuses = Object.keys(operation.responses);
      const isRedirect = statuses.includes("302");
      // A schema registry's clients know only its own; a browser shows a page.
      const error = operation.tags.includes("Schemas")
        ? "RegistryError"
        : isRedirect
          ? "Page"
          : "Error";
      expect(isRedirect || statuses.some((status) => status < "300")).to.equal(true);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        // Headers that are too large are refused before anybody knows whose they are.
        if (status < "400" || status === "431") continue;
        expect(JSON.stringify(content)).to.include(`"#/components/schemas/${error}"`);
      }
    }
  });

  it("should report every call that needs a key what may be wrong with any of them", () => {
    for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
      if (operation.security.length === 0) continue;
      const expected = ["400", "401", "403", "429", "503"];
      expect(operation.responses, operation.summary).to.include.keys(expected);
    }
    const ingest = document.paths["/v1/events/ingest"]?.["post"]?.responses;
    expect(ingest?.["200"]?.content).to.have.keys("application/x-ndjson");
  });

  it("should say of every call how long its path may be, that headers may be too large", () => {
    for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
      const { content } = operation.responses["431"] ?? {};
      expect(JSON.stringify(content), operation.summary).to.include("#/components/schemas/Error");
      for (const { in: place, name, schema } of operation.parameters) {
        if (place === "query") continue;
        const isBounded = "pattern" in schema || "maxLength" in schema;
        expect(isBounded, `${operation.summary}: ${name}`).to.equal(true);
      }
    }
  });
});
