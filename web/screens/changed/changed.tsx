/** What made MRR another between two moments: a sentence, then gains and losses that add up. */
import type { WhatChangedAnswer } from "../../../api/what-changed/schema.js";
import { completeTo, useAnswer } from "../../api/use-answer.js";
import { day } from "../../format/dates.js";
import { count, money, signedMoney } from "../../format/numbers.js";
import { Copy } from "../../parts/copy.js";
import { chosenOf } from "../../parts/menu.js";
import { Reading } from "../../parts/reading.js";
import { Empty, Failure, SkeletonTable } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { Bar } from "../../shell/bar.js";
import { frozen } from "../../shell/freeze.js";
import { dayBefore } from "../../state/ranges.js";
import { type View, mrrFilterNames, useView } from "../../state/view.js";
import { ExportMenu } from "../series-exports.js";
import { AgainstMenu } from "./against.js";
import { type Period, path, periodOf, periodText, rowsAsked } from "./period.js";
import { ChangedRows } from "./rows.js";
import { sentenceOf } from "./sentence.js";
import { type Tab, Tabs, tabs } from "./tabs.js";

const shownMax = 10;

export default function Changed() {
  const view = useView();
  const by = chosenOf(view, tabs);
  const period = periodOf(view);
  const asked = { ...period.params, ...view.mrrFilters, limit: rowsAsked };
  const rows = useAnswer(path, { ...asked, by });
  const { answer, error, isStale } = rows;
  // The sentence is about accounts, whatever the rows are.
  const other = useAnswer(by === "account" ? null : path, { ...asked, by: "account" });
  const accounts = by === "account" ? rows : other;
  const data = answer?.data;
  const isEmpty = data !== undefined && data.rows.length === 0;
  return (
    <>
      <Bar title="What changed" controls={{ range: true, filters: mrrFilterNames }}>
        <AgainstMenu />
        <ExportMenu path={path} params={{ ...asked, by }} />
        <Copy name="frozen link" text={frozenUrl(view, completeTo.value)} isShown isNamed />
      </Bar>
      <Tabs shown={by} />
      <Failure error={error} />
      {accounts.answer === null ? null : (
        <p class={accounts.isStale ? "answer is-stale" : "answer"}>
          {sentenceOf(accounts.answer.data, periodText(period))}
        </p>
      )}
      {data === undefined ? null : <Readings data={data} period={period} isStale={isStale} />}
      {answer === null && error === null ? <SkeletonTable rows={8} columns={5} /> : null}
      {data === undefined || isEmpty ? null : (
        <Sides data={data} by={by} period={period} isStale={isStale} />
      )}
      {isEmpty ? (
        <Empty title="No movements" action={{ href: view.to("/mrr"), label: "Back to MRR" }}>
          Choose a longer range, another period to compare with, or fewer filters.
        </Empty>
      ) : null}
    </>
  );
}

type Data = WhatChangedAnswer["data"];

function frozenUrl(view: View, complete: string | null): string {
  return location.origin + (view.isFrozen ? view.with({}) : frozen(view, complete));
}

function Readings(props: {
  readonly data: Data;
  readonly period: Period;
  readonly isStale: boolean;
}) {
  const { data, period } = props;
  return (
    <div class={props.isStale ? "readings is-stale" : "readings"}>
      <Reading label={startText(period)} value={money(data.from.mrr, data.currency)} />
      <Reading label={endText(period)} value={money(data.to.mrr, data.currency)} />
      <Reading label="Difference" value={signedMoney(data.difference, data.currency)} />
    </div>
  );
}

function startText({ days }: Period): string {
  return `MRR at the end of ${day(dayBefore(days.from))}`;
}

/** A day that still goes on has no end yet. */
function endText({ days, isOpen }: Period): string {
  const last = day(dayBefore(days.to));
  return isOpen ? `MRR on ${last}, so far` : `MRR at the end of ${last}`;
}

function Sides(props: {
  readonly data: Data;
  readonly by: Tab;
  readonly period: Period;
  readonly isStale: boolean;
}) {
  const view = useView();
  const { data, by, period } = props;
  const { currency } = data;
  const gains = data.rows.filter(({ difference }) => difference > 0).slice(0, shownMax);
  const losses = data.rows.filter(({ difference }) => difference < 0).slice(0, shownMax);
  const [gained, lost] = [sumOf(gains), sumOf(losses)];
  const others = data.others.count + data.rows.length - gains.length - losses.length;
  const rows = { by, days: period.days, currency };
  return (
    <div class={props.isStale ? "is-stale" : ""}>
      <div class="sides">
        {gains.length === 0 ? null : (
          <section>
            <h2 class="table-title">Top gains</h2>
            <ChangedRows caption="Top gains, the largest first" rows={gains} {...rows} />
          </section>
        )}
        {losses.length === 0 ? null : (
          <section>
            <h2 class="table-title">Top losses</h2>
            <ChangedRows caption="Top losses, the largest first" rows={losses} {...rows} />
          </section>
        )}
      </div>
      <h2 class="table-title">
        <Term of="netNew" label="Added up" />
      </h2>
      <dl class="facts side-facts sum">
        <dt>{startText(period)}</dt>
        <dd class="number">{money(data.from.mrr, currency)}</dd>
        <dt>Gains above</dt>
        <dd class="number">{signedMoney(gained, currency)}</dd>
        <dt>Losses above</dt>
        <dd class="number">{signedMoney(lost, currency)}</dd>
        <dt>
          {others === 0 ? (
            "Others (0)"
          ) : (
            <a href={view.to("/mrr/movements", { range: null, ...period.days })}>
              Others ({count(others)})
            </a>
          )}
        </dt>
        <dd class="number">{signedMoney(data.difference - gained - lost, currency)}</dd>
        <dt>
          <strong>{endText(period)}</strong>
        </dt>
        <dd class="number">
          <strong>{money(data.to.mrr, currency)}</strong>
        </dd>
      </dl>
    </div>
  );
}

function sumOf(rows: Data["rows"]): number {
  return rows.reduce((sum, { difference }) => sum + difference, 0);
}
