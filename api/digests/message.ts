/** A digest as plain text and as simple HTML, which say the same. Pure. */
import type { Message } from "../../workspaces/channels/message.js";
import { escapeHtml } from "../plain-page.js";
import type { FrozenFigures } from "./figures.js";
import { type Column, pictureOf, pictureWidth } from "./picture.js";
import { moneyIn, sentencesOf } from "./sentences.js";

/** @param unsubscribeUrl of a digest by e-mail */
export function digestMessage(
  figures: FrozenFigures,
  unsubscribeUrl?: string,
): Message & Required<Pick<Message, "picture">> {
  const { mrr, whatChanged, revenue, links, frequency } = figures;
  const money = moneyIn(mrr.currency);
  const whole = figures.workspace.replaceAll(/\s+/g, " ");
  const named = figures.segment === null ? whole : `${whole} (${figures.segment})`;
  const of = `${named}, ${daysOf(figures)}`;
  const sentences = sentencesOf(frequency, figures);
  const lines = [
    figureLine("MRR", money(mrr.mrr), money(whatChanged.from.mrr), links.mrr),
    figureLine(
      "Revenue",
      money(revenue.totals.revenue),
      revenue.compare ? money(revenue.compare.revenue) : null,
      links.revenue,
    ),
    {
      name: "What changed",
      figure: signed(whatChanged.difference, money),
      link: links.whatChanged,
    },
  ];
  const frozen = "Each link shows these figures for ever as they were known when this was sent.";
  const alt = pictureText(figures.columns, money);
  const text = [
    of,
    "",
    ...sentences,
    alt,
    "",
    ...lines.map(({ name, figure, link }) => `${name}: ${figure}\n${link}`),
    "",
    frozen,
    ...(unsubscribeUrl === undefined ? [] : ["", `No more of these: ${unsubscribeUrl}`]),
    "",
  ];
  const rows = lines.map(
    ({ name, figure, link }) => `<li>${anchor(link, name)}: ${escapeHtml(figure)}</li>`,
  );
  const picture = { cid: "mrr", png: pictureOf(figures.columns) };
  const html = [
    `<h1 style="font-size:1.2em">${escapeHtml(of)}</h1>`,
    `<p>${sentences.map(escapeHtml).join("<br>")}</p>`,
    `<p><img src="cid:${picture.cid}" width="${pictureWidth}" alt="${escapeHtml(alt)}"></p>`,
    `<ul>${rows.join("")}</ul>`,
    `<p>${frozen}</p>`,
    ...(unsubscribeUrl === undefined
      ? []
      : [`<p>${anchor(unsubscribeUrl, "No more of these")}</p>`]),
  ];
  const subject = `${of}: MRR ${money(mrr.mrr)}`;
  const message = { subject, text: text.join("\n"), html: html.join("\n"), picture };
  return unsubscribeUrl === undefined ? message : { ...message, unsubscribeUrl };
}

export function pictureUrl({ png }: NonNullable<Message["picture"]>): string {
  return `data:image/png;base64,${png.toString("base64")}`;
}

function daysOf({ days: { first, last }, frequency }: FrozenFigures): string {
  if (frequency === "daily") return first;
  return frequency === "monthly" ? first.slice(0, "YYYY-MM".length) : `${first} to ${last}`;
}

/** What the picture shows, for those who do not see it. */
function pictureText(columns: readonly Column[], money: (amount: number) => string): string {
  const [first, last] = [columns.at(0), columns.at(-1)];
  if (first === undefined || last === undefined) return "No MRR yet.";
  const all = columns.map(({ mrr }) => mrr);
  return (
    `MRR day by day: ${money(first.mrr)} on ${first.day}, ${money(last.mrr)} on ${last.day}, ` +
    `between ${money(Math.min(...all))} and ${money(Math.max(...all))}.`
  );
}

function figureLine(name: string, now: string, before: string | null, link: string) {
  return { name, figure: before === null ? now : `${now} (before: ${before})`, link };
}

function signed(amount: number, money: (amount: number) => string): string {
  return amount > 0 ? `+${money(amount)}` : money(amount);
}

function anchor(link: string, text: string): string {
  return `<a href="${escapeHtml(link)}">${text}</a>`;
}
