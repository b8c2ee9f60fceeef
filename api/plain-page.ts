/** A page of a few sentences, for people outside of the web app. */
import { createHash } from "node:crypto";
import type { Context } from "koa";

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}" +
  ":root{color-scheme:light dark}";
const styleHash = hashOf(style);

/**
 * @param sentences one paragraph each; text, never markup
 * @param button posts to the address of the page
 */
export function plainPage(
  ctx: Context,
  status: number,
  title: string,
  sentences: readonly string[],
  button?: string,
): void {
  const form = button === undefined ? "" : `<form method="post">${buttonOf(button)}</form>`;
  ctx.status = status;
  ctx.set("X-Frame-Options", "DENY");
  const action = button === undefined ? "'none'" : "'self'";
  const policy = `form-action ${action}; frame-ancestors 'none'`;
  const content = `<h1>${escapeHtml(title)}</h1>
${sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`).join("\n")}
${form}
<p><a href="/">To the dashboard</a></p>`;
  setPageHeaders(ctx, styleHash, policy);
  ctx.body = htmlPage(title, style, content);
}

/**
 * A page that loads and runs nothing.
 * @param policy what it may do beside its one style
 */
export function setPageHeaders(ctx: Context, hashOfStyle: string, policy: string): void {
  ctx.set({
    "Content-Security-Policy":
      `default-src 'none'; style-src 'sha256-${hashOfStyle}'; base-uri 'none'; ` + policy,
    "Referrer-Policy": "no-referrer",
  });
  ctx.type = "text/html; charset=utf-8";
}

/** @param content markup */
export function htmlPage(title: string, css: string, content: string): string {
  return htmlWith(title, `<style>${css}</style>`, content);
}

/** @param head markup: its styles */
export function htmlWith(title: string, head: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${head}
</head>
<body>
${content}
</body>
</html>
`;
}

/** The name of a page's one style in the policy. */
export function hashOf(css: string): string {
  return createHash("sha256").update(css).digest("base64");
}

function buttonOf(label: string): string {
  return `<button>${escapeHtml(label)}</button>`;
}

export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (found) => entities[found] ?? found).replaceAll('"', "&quot;");
}
