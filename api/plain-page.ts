/** A page of a few sentences, for what a person sees outside of the web app. */
import { createHash } from "node:crypto";
import type { Context } from "koa";

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}" +
  ":root{color-scheme:light dark}";
const styleHash = createHash("sha256").update(style).digest("base64");

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
  ctx.set({
    "Content-Security-Policy":
      `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
      `form-action ${button === undefined ? "'none'" : "'self'"}; frame-ancestors 'none'`,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
  });
  ctx.type = "text/html; charset=utf-8";
  ctx.body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`).join("\n")}
${form}
<p><a href="/">To the dashboard</a></p>
</body>
</html>
`;
}

function buttonOf(label: string): string {
  return `<button>${escapeHtml(label)}</button>`;
}

export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (found) => entities[found] ?? found).replaceAll('"', "&quot;");
}
