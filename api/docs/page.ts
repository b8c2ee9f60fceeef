/** The OpenAPI document as one page a person can read: no scripts, nothing from elsewhere. */
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from "./openapi.js";

export function docsPage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))];
  const { schemas } = document.components;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(document.info.title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>${escape(document.info.title)}</h1>
<p>${prose(document.info.description)}</p>
<p>As a machine reads it: <a href="/openapi.json">openapi.json</a>.</p>
<nav aria-label="Calls and shapes">${tags.map((tag) => navigation(tag, operations)).join("\n")}
<h2>Shapes</h2>
<p>${Object.keys(schemas)
    .map((name) => `<a href="#${name}">${name}</a>`)
    .join(" · ")}</p>
</nav>
<main>
<h2>Calls</h2>
${operations.map(section).join("\n")}
<h2>Shapes</h2>
${Object.entries(schemas)
  .map(([name, schema]) => `<h3 id="${name}">${name}</h3>\n${shape(schema)}`)
  .join("\n")}
</main>
</body>
</html>
`;
}

/** On a telephone a path or a table is wider than the screen: one breaks, the other is scrolled. */
export const pageStyle = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1e21; background: #fff; overflow-wrap: break-word; }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f2f3f5; border-radius: 3px; }
code { padding: 0 .25em; }
h3 { margin-top: 2.5rem; border-top: 1px solid #d9dce1; padding-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid #e6e8eb; }
.method { text-transform: uppercase; font-weight: 600; }
a { color: #0a58ca; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e6eb; background: #18191a; }
  code, pre { background: #2a2c2f; }
  h3, th, td { border-color: #3a3d41; }
  a { color: #6ea8fe; }
}
`;

interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: OpenApiOperation;
}

function navigation(tag: string, operations: readonly Placed[]): string {
  const items = operations
    .filter(({ operation }) => operation.tags.includes(tag))
    .map((placed) => `<li><a href="#${anchor(placed)}">${heading(placed)}</a></li>`);
  return `<h2>${escape(tag)}</h2>\n<ul>${items.join("")}</ul>`;
}

function section(placed: Placed): string {
  const { operation } = placed;
  const body = Object.entries(operation.requestBody?.content ?? {}).map(
    ([type, { schema }]) => `<p>Body (<code>${escape(type)}</code>): ${typeOf(schema)}</p>`,
  );
  return `<h3 id="${anchor(placed)}">${heading(placed)}</h3>
<p>${escape(operation.summary)}. ${prose(operation.description ?? "")}</p>
${operation.security.length === 0 ? "" : `<p>Authorization: ${securityOf(operation)}</p>`}
${parametersOf(operation)}
${body.join("\n")}
${table(["Status", "Answer"], answersOf(operation))}`;
}

function securityOf(operation: OpenApiOperation): string {
  return operation.security
    .flatMap((scheme) => Object.keys(scheme))
    .map((name) => (name === "key" ? "Bearer, a workspace key" : "Bearer, the administrator token"))
    .join(" or ");
}

function parametersOf({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    (parameter) =>
      `<tr><td><code>${escape(parameter.name)}</code></td><td>${parameter.in}</td>` +
      `<td>${typeOf(parameter.schema)}</td><td>${prose(parameter.description ?? "")}</td></tr>`,
  );
  return table(["Parameter", "In", "Type", "Meaning"], rows);
}

function answersOf({ responses }: OpenApiOperation): string[] {
  return Object.entries(responses).map(([status, { description, content = {} }]) => {
    const types = Object.entries(content).map(([type, { schema }]) =>
      type === "application/json" ? typeOf(schema) : `<code>${escape(type)}</code>`,
    );
    return `<tr><td>${status}</td><td>${escape(description)} ${types.join(" or ")}</td></tr>`;
  });
}

function shape(schema: JsonSchema): string {
  const { properties, required, description } = schema;
  if (!isObject(properties)) return `<p>${typeOf(schema)}</p>`;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const rows = Object.entries(properties).map(([name, property]) => {
    if (!isObject(property)) return "";
    const optional = names.includes(name) ? "" : " <em>optional</em>";
    const note = typeof property.description === "string" ? prose(property.description) : "";
    const cells = [`<code>${escape(name)}</code>${optional}`, typeOf(property), note];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  });
  const intro = typeof description === "string" ? `<p>${prose(description)}</p>` : "";
  return intro + table(["Field", "Type", "Meaning"], rows);
}

function table(heads: readonly string[], rows: readonly string[]): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  return `<div class="wide"><table><tr>${head}</tr>${rows.join("")}</table></div>`;
}

/** A type in a few words; nested shapes in braces, named ones as links. */
function typeOf(schema: unknown): string {
  if (!isObject(schema)) return "anything";
  const { $ref, anyOf, items, properties, type, format, additionalProperties } = schema;
  if (typeof $ref === "string") {
    const name = $ref.split("/").at(-1) ?? "";
    return `<a href="#${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" or ");
  if ("const" in schema) return `<code>${escape(JSON.stringify(schema.const))}</code>`;
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value) => `<code>${escape(String(value))}</code>`).join(", ");
  }
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (isObject(properties)) {
    const fields = Object.entries(properties).map(([name, field]) => `${name}: ${typeOf(field)}`);
    return `{ ${fields.join("; ")} }`;
  }
  if (isObject(additionalProperties) && "type" in additionalProperties) {
    return `${typeOf(additionalProperties)} by name`;
  }
  return escape([type, format].filter((word) => typeof word === "string").join(", ") || "anything");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function anchor({ method, path }: Placed): string {
  return `${method}${path.replace(/[^\w]+/g, "-")}`;
}

function heading({ method, path }: Placed): string {
  return `<span class="method">${method}</span> <code>${escape(path)}</code>`;
}

/** Text with `code` between backticks. */
function prose(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (found) => entities[found] ?? found).replaceAll('"', "&quot;");
}
