/** The API reference: Swagger UI over the OpenAPI document, beside the pages of `docs/`. */
import type { OpenApiDocument } from "./openapi.js";
import { escapeHtml } from "../plain-page.js";
import { type Pages, shell } from "./pages.js";

/** A file of its own: the policy allows no script within a page. */
export const referenceScript = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  // A key stays in the memory of this page.
  persistAuthorization: false,
  // Nothing is sent to others for validation.
  validatorUrl: null,
});
`;

export function referencePage({ info }: OpenApiDocument, pages: Pages): string {
  const links = Array.from(pages, ([path, { title }]) => ({ path, title }))
    // The reasons behind choices are linked where they matter.
    .filter(({ path }) => !path.startsWith("decisions/"))
    .map(({ path, title }) => `<li><a href="/docs/${path}">${escapeHtml(title)}</a></li>`);
  return shell(
    info.title,
    `<h1>${escapeHtml(info.title)}</h1>
<details><summary>Documentation</summary>
<ul class="pages">${links.join("\n")}</ul>
</details>
<p>To try a call, enter a key under <em>Authorize</em>. As a machine reads it:
<a href="/openapi.json">openapi.json</a>.</p>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>`,
    ["/docs/swagger-ui.css"],
  );
}
