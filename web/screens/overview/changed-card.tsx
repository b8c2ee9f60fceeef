/** What changed this month, in a sentence and its three largest gains and losses. */
import type { WhatChangedRow } from "../../../api/what-changed/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { signedMoney } from "../../format/numbers.js";
import { Failure, Skeleton } from "../../parts/states.js";
import { rangeOf } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { path, periodIn, periodText, rowsAsked } from "../changed/period.js";
import { Kinds, Name } from "../changed/rows.js";
import { sentenceOf } from "../changed/sentence.js";

const shownMax = 3;

/** @param props `hasFailed`: the screen says already what went wrong */
export function ChangedCard({ hasFailed }: { readonly hasFailed: boolean }) {
  const view = useView();
  const period = periodIn(view, rangeOf("mtd", view.end, null, null));
  const params = { ...period.params, ...view.filters, limit: rowsAsked, by: "account" };
  const { answer, error, isStale } = useAnswer(path, params);
  const data = answer?.data;
  const rows = data?.rows ?? [];
  const line = (row: WhatChangedRow) => (
    <li key={row.account}>
      <Name row={row} by="account" days={period.days} />
      <span class="number">{signedMoney(row.difference, data?.currency ?? "USD")}</span>
      <span class="small soft">
        <Kinds row={row} currency={data?.currency ?? "USD"} />
      </span>
    </li>
  );
  const sides = [
    { title: "Top gains", rows: rows.filter(({ difference }) => difference > 0) },
    { title: "Top losses", rows: rows.filter(({ difference }) => difference < 0) },
  ].filter((side) => side.rows.length > 0);
  const all = { range: "mtd", from: null, to: null, compare: null };
  return (
    <section class={isStale ? "strip changed-card is-stale" : "strip changed-card"}>
      <h2>
        What changed this month
        <a href={view.to("/what-changed", all)}>All changes</a>
      </h2>
      <Failure error={hasFailed ? null : error} />
      <p class="answer">
        {data === undefined ? (
          <Skeleton of="+1,234.56 since the first: two accounts joined" />
        ) : (
          sentenceOf(data, periodText(period))
        )}
      </p>
      <div class="sides">
        {sides.map(({ title, rows: largest }) => (
          <div key={title}>
            <h3 class="small soft">{title}</h3>
            <ul>{largest.slice(0, shownMax).map(line)}</ul>
          </div>
        ))}
      </div>
    </section>
  );
}
