/** The pages of `docs/` as HTML, so that each installation shows those of its version. */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { Marked } from "marked";
import { gfmHeadingId } from "marked-gfm-heading-id";
import { projectFile } from "../../runtime/project-root.js";
import { escapeHtml, htmlWith } from "../plain-page.js";

interface Page {
  readonly title: string;
  html(): string;
}
export type Pages = ReadonlyMap<string, Page>;

const readme = "README.md";

export function readPages(): Pages {
  const found = readdirSync(projectFile("docs"), { recursive: true, encoding: "utf8" });
  const paths = found.filter((path) => path.endsWith(".md") && !path.includes("node_modules"));
  const pages = new Map<string, Page>();
  for (const path of [readme, ...paths.sort()]) pages.set(path, readPage(path, pages));
  return pages;
}

function readPage(path: string, pages: Pages): Page {
  const text =
    path === readme
      ? readFileSync(projectFile("README.md"), "utf8")
      : readFileSync(projectFile("docs", path), "utf8");
  const title = /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? path;
  let html: string | undefined;
  const back = '<p><a href="/docs">API reference</a></p>';
  return {
    title,
    html: () =>
      (html ??= shell(title, `${back}<main class="page">${rendered(path, text, pages)}</main>`)),
  };
}

/** Links lead to the served page; what is not served is named without a link. */
function rendered(path: string, text: string, pages: Pages): string {
  const marked = new Marked(gfmHeadingId(), {
    renderer: {
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        if (/^(?:https?:|#)/.test(href)) return `<a href="${escapeHtml(href)}">${words}</a>`;
        const [file = "", anchor] = href.split("#", 2);
        const inProject = path === readme ? "." : posix.join("docs", posix.dirname(path));
        const target = posix.join(inProject, file);
        const page = target === readme ? readme : posix.relative("docs", target);
        if (!pages.has(page)) return words;
        const place = anchor === undefined ? "" : `#${anchor}`;
        return `<a href="/docs/${escapeHtml(page + place)}">${words}</a>`;
      },
      image: ({ href, text: seen }) =>
        `<img src="/docs/images/${escapeHtml(posix.basename(href))}" alt="${escapeHtml(seen)}">`,
    },
  });
  return marked.parse(text, { async: false });
}

export function shell(title: string, body: string, styles: readonly string[] = []): string {
  const sheets = ["/docs/pages.css", ...styles];
  const head = sheets.map((href) => `<link rel="stylesheet" href="${href}">`).join("\n");
  return htmlWith(title, head, body);
}

/** On a telephone a path or a table is wider than the screen: one breaks, the other is scrolled. */
export const pageStyle = `
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1e21; background: #fff; overflow-wrap: break-word; }
.page { max-width: 48rem; }
.page code, .page pre { font: 14px/1.4 ui-monospace, monospace; background: #f2f3f5;
  border-radius: 3px; }
.page code { padding: 0 .25em; }
.page pre { padding: .75rem; overflow-x: auto; }
.page pre code { padding: 0; }
.page table { border-collapse: collapse; display: block; overflow-x: auto; }
.page th, .page td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid #e6e8eb; }
.page a, .pages a { color: #0a58ca; }
.pages { columns: 16rem; }
`;
