/** A proof as a page, and smaller for a frame on another site. Pure. */
import type { ProofClaims } from "../../schemas/http/proofs.js";
import { providerNames } from "../../schemas/provider-tokens.js";
import { escapeHtml, hashOf, htmlPage } from "../plain-page.js";
import { figures } from "./figures.js";
import { formatOf } from "./shown.js";

const style = `:root{color-scheme:light dark;--ink:light-dark(#1a1d1b,#e8eae6);
--soft:light-dark(#565b57,#a5ada9);--line:light-dark(#e4e4de,#2a3036);
--accent:light-dark(#0b6e5d,#5cc7b0);--ground:light-dark(#fbfbf9,#14171a)}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);
max-width:42rem;margin:0 auto;padding:1.5rem 1rem;overflow-wrap:anywhere}
h1{font-size:1.3rem;margin:0}h2{font-size:1rem;margin:1.5rem 0 .25rem}
p,ul{margin:.25rem 0}ul{padding-left:1.2rem}a{color:var(--accent)}
.figure{font-size:2.2rem;font-weight:600;line-height:1.2;margin:1rem 0 .25rem}
.soft,small,th{color:var(--soft)}
svg{width:100%;height:auto;margin-top:.5rem}svg line{stroke:var(--line)}
svg text{fill:var(--soft);font-size:13px}svg circle{fill:var(--accent)}
svg polyline{fill:none;stroke:var(--accent);stroke-width:2.5;stroke-linejoin:round}
table{border-collapse:collapse}td,th{padding:.1rem 1.5rem .1rem 0;text-align:left;font-weight:400}`;
export const proofStyleHash = hashOf(style);

/** Who says so, when, and signed by which key. */
export interface Signed {
  readonly iss: string;
  readonly sub: string;
  /** s since 1970 */
  readonly iat: number;
  readonly kid: string;
}

export function proofPage(claims: ProofClaims, { iss, sub, iat, kid }: Signed): string {
  const { events, integrations } = claims.known_by;
  const connected =
    integrations.length === 0
      ? ["No provider is connected."]
      : integrations.flatMap(integrationSentence);
  const known = [...connected, ...events.map(eventsSentence)];
  const said = new Date(iat * 1_000).toISOString();
  return htmlPage(
    `${claims.title} – ${claims.business}`,
    style,
    `<main>
<h1>${escapeHtml(claims.title)}</h1>
<p class="soft">${escapeHtml(claims.business)}</p>
${figureOf(claims)}
<p>${timesOf(claims)}</p>
${filtersOf(claims)}
${tableOf(claims)}
<h2>How it is known</h2>
<ul>
${known.map((sentence) => `<li>${escapeHtml(sentence)}</li>`).join("\n")}
</ul>
<p class="soft">${linkTo(claims.definition, `What ${claims.name} means`)}</p>
<h2>Who says so</h2>
<p>The service at ${linkTo(iss, new URL(iss).host)}, which the business runs or has run for it, in a
${linkTo(`${sub}.json`, "signed statement")} of ${minuteOf(said)}. The signature proves that it said
so and that nothing was changed since:
${linkTo(`${iss}/docs/proofs.md`, "how to verify it")}. Key:
<small>${escapeHtml(kid)}</small></p>
</main>`,
  );
}

export function proofFrame(claims: ProofClaims, { sub }: Pick<Signed, "sub">): string {
  const providers = new Set(claims.known_by.integrations.map(({ provider }) => nameOf(provider)));
  const by = providers.size === 0 ? "" : `Known from ${listOf([...providers])}. `;
  return htmlPage(
    claims.title,
    style,
    `<main>
<h1>${escapeHtml(claims.title)}</h1>
<p class="soft">${escapeHtml(claims.business)}</p>
${figureOf(claims)}
${filtersOf(claims)}
<p class="soft">${timesOf(claims)} ${escapeHtml(by)}<a href="${escapeHtml(sub)}" target="_blank"
rel="noopener">Signed: how it is known</a></p>
</main>`,
  );
}

function figureOf(claims: ProofClaims): string {
  const figure = `<p class="figure">${escapeHtml(claims.text)}</p>
<p>${escapeHtml(claims.name)}</p>`;
  if (claims.series === null) return figure;
  const { name, series, text } = claims;
  return `${figure}\n${chartOf(`${name} by month, ${text}`, series, formatIn(claims))}`;
}

function formatIn({ figure, currency, shown_as: as }: ProofClaims): (value: number) => string {
  if (as === "index") return String;
  return formatOf(figures[figure].unit, currency ?? "", 2);
}

function tableOf(claims: ProofClaims): string {
  if (claims.series === null) return "";
  const format = formatIn(claims);
  const rows = claims.series.map(
    ({ month, value }) =>
      `<tr><th scope="row">${month}</th>` +
      `<td>${value === null ? "–" : escapeHtml(format(value))}</td></tr>`,
  );
  return `<details><summary>As a table</summary><table>${rows.join("")}</table></details>`;
}

function timesOf({ at, frozen, known_at: knownAt, period }: ProofClaims): string {
  const days = period === null ? "" : `From ${period.from} up to ${period.to}. `;
  return frozen
    ? `${days}As of ${minuteOf(at)}, frozen as it was known at ${minuteOf(knownAt)}.`
    : `${days}As of ${minuteOf(at)}; this page follows the figure.`;
}

function filtersOf({ filters: { segment: _id, ...filters }, segment }: ProofClaims): string {
  const all = [...Object.entries(filters), ...Object.entries(segment?.filters ?? {})];
  const parts = all.flatMap(([name, value]) => {
    if (value === undefined) return [];
    const said = value.startsWith("-") ? `all but ${value.replaceAll(/(^|,)-/g, "$1")}` : value;
    return `${name.replaceAll("_", " ")}: ${said}`;
  });
  if (segment?.is_of_list) parts.push("customers of a list that the business keeps");
  return parts.length === 0 ? "" : `<p>Only a part of it: ${escapeHtml(parts.join("; "))}.</p>`;
}

type Known = ProofClaims["known_by"];

function integrationSentence(integration: Known["integrations"][number]): string[] {
  const { provider, connected_at: connectedAt, months, reconciliation } = integration;
  const name = nameOf(provider);
  const ways = [
    [months.webhook, "reported as it happened"],
    [months.api, "read from its API"],
    [months.export, "read from its export"],
    [months.report, "read from its reports"],
    [months.none, "not known whole"],
  ] as const;
  const parts = ways.flatMap(([count, how]) => (count ? [`${monthsText(count)} ${how}`] : []));
  const whose = provider === "custom" ? "The business's own systems" : name;
  const sentence = `${whose}, connected on ${connectedAt.slice(0, 10)}: ${listOf(parts)}.`;
  if (reconciliation === null) return [sentence];
  const { month, score_pct: score, compared_at: at } = reconciliation;
  const agreed = `Of ${month}, ${score}% of the cents agree with the list of ${name}`;
  return [sentence, `${agreed} (compared on ${at.slice(0, 10)}).`];
}

function eventsSentence({ provider, checked, share_pct: share }: Known["events"][number]): string {
  const how = checks[checked] ?? (() => `checked by ${checked}`);
  const own = provider === "custom" ? ownChecks[checked] : undefined;
  const part = share === 0 ? "Less than 1%" : `${share}%`;
  return `${part} of the events that count: ${own ?? how(nameOf(provider))}.`;
}

const checks: Readonly<Record<string, (provider: string) => string>> = {
  signature: (provider) => `signed by ${provider}`,
  token: (provider) => `signed by ${provider}`,
  authorization: (provider) => `calls of ${provider} with its secret`,
  url: (provider) => `calls of ${provider} to a secret address; it signs nothing`,
  api: (provider) => `read from the API of ${provider}`,
  export: (provider) => `read from an export of ${provider}`,
  api_key: (provider) => `entered by the business itself, as of ${provider}`,
};

const ownChecks: Readonly<Record<string, string>> = {
  signature: "signed by the business's own systems",
  api_key: "entered by the business itself",
};

const names: Readonly<Record<string, string>> = { ...providerNames, custom: "its own systems" };

function nameOf(provider: string): string {
  return names[provider] ?? provider;
}

function monthsText(count: number): string {
  return count === 1 ? "1 month" : `${count} months`;
}

function listOf(parts: readonly string[]): string {
  return new Intl.ListFormat("en", { type: "conjunction" }).format(parts);
}

function minuteOf(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}

function linkTo(url: string, text: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}

type Series = NonNullable<ProofClaims["series"]>;

const width = 640;
const height = 240;
const edge = { left: 8, right: 8, top: 24, bottom: 28 };

/** A figure over time as inline SVG, drawn only from shown values. */
export function chartOf(label: string, series: Series, format: (value: number) => string): string {
  const values = series.flatMap(({ value }) => value ?? []);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = high - low || 1;
  const step = (width - edge.left - edge.right) / Math.max(1, series.length - 1);
  const x = (place: number) => Math.round((edge.left + place * step) * 10) / 10;
  const y = (value: number) =>
    Math.round((edge.top + ((high - value) / span) * (height - edge.top - edge.bottom)) * 10) / 10;
  const points = series.flatMap(({ month, value }, place) =>
    value === null ? [] : [{ month, value, at: `${x(place)},${y(value)}`, place }],
  );
  const dots = points.map(
    ({ month, value, place }) =>
      `<circle cx="${x(place)}" cy="${y(value)}" r="4">` +
      `<title>${month}: ${escapeHtml(format(value))}</title></circle>`,
  );
  const zero = `<line x1="${edge.left}" x2="${width - edge.right}" y1="${y(0)}" y2="${y(0)}"/>`;
  const months = [series[0], series.length > 1 ? series.at(-1) : undefined].map((row, place) => {
    const [at, anchor] = place === 0 ? [edge.left, "start"] : [width - edge.right, "end"];
    if (row === undefined) return "";
    return `<text x="${at}" y="${height - 8}" text-anchor="${anchor}">${row.month}</text>`;
  });
  const top = `<text x="${edge.left}" y="14">${escapeHtml(format(high))}</text>`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(label)}">
${zero}<polyline points="${points.map(({ at }) => at).join(" ")}"/>${dots.join("")}
${months.join("")}${top}
</svg>`;
}
