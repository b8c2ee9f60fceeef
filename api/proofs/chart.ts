/** A figure over time as inline SVG, drawn only from shown values. Pure. */
import type { ProofClaims } from "../../schemas/http/proofs.js";
import { escapeHtml } from "../plain-page.js";

type Series = NonNullable<ProofClaims["series"]>;

const width = 640;
const height = 240;
const edge = { left: 8, right: 8, top: 24, bottom: 28 };

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
