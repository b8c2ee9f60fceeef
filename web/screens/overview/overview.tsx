/** The first screen: figures, what changed and why, where MRR comes from, what comes in now. */
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { LineChart } from "../../charts/line.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { money, shortMoney } from "../../format/numbers.js";
import { Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { AttentionList } from "../../shell/attention.js";
import { Bar, comparisons } from "../../shell/bar.js";
import { NoteList, useAnnotations } from "../../shell/annotations.js";
import { useGoals } from "../../shell/goals.js";
import { filterNames, useView } from "../../state/view.js";
import { compareParams } from "../compare-params.js";
import { MovementBars } from "../mrr/movement-bars.js";
import { SeriesExports } from "../series-exports.js";
import { MrrShares } from "../shares.js";
import { MrrTitle } from "../titles.js";
import { ChangedCard } from "./changed-card.js";
import { Figures } from "./figures.js";
import { screenOf } from "../../shell/screens.js";
import { Strip } from "./strip.js";

/** Most workspaces never see it again. */
const FirstSteps = screenOf(() => import("./first-steps.js"));

export default function Overview() {
  const view = useView();
  const { asked, interval, filters } = view;
  const params = { ...asked, interval, ...filters };
  const compared = { ...params, ...compareParams(view) };
  const summary = useAnswer("/v1/metrics/summary", compared);
  const revenue = useAnswer("/v1/metrics/revenue", compared);
  const rates = useAnswer("/v1/metrics/rates", { ...asked, ...filters, ...compareParams(view) });
  const movements = useAnswer("/v1/metrics/mrr/movements", params);
  const noteOf = useAnnotations();
  const goalOf = useGoals("mrr");
  const data = summary.answer?.data;
  const then = data?.compare;
  const currency = data?.currency ?? "USD";
  const series = data?.series ?? [];
  const moved = movements.answer?.data.movements ?? [];
  const error = summary.error ?? revenue.error ?? rates.error ?? movements.error;
  const isEmpty = useIsEmpty(data?.mrr === 0 && revenue.answer?.data.totals.revenue === 0);
  if (isEmpty) {
    return (
      <>
        <Bar title="Overview" controls={{}} />
        <AttentionList />
        <FirstSteps currency={currency} />
      </>
    );
  }
  return (
    <>
      <Bar
        title="Overview"
        controls={{
          range: true,
          interval: true,
          compare: true,
          filters: filterNames,
        }}
      />
      <Failure error={error} />
      <AttentionList />
      <Figures
        summary={data}
        rates={rates.answer?.data}
        revenue={revenue.answer?.data}
        isStale={summary.isStale}
      />
      <div class="wide-and-narrow">
        <Figure
          title={<MrrTitle rows={moved} interval={interval} currency={currency} />}
          name="mrr"
          isStale={summary.isStale}
          legend={[
            ...(then?.series === undefined
              ? []
              : [
                  { label: "This period", tone: "accent" as const },
                  { label: comparisons[view.comparison], tone: "then" as const },
                ]),
            ...(series.some(({ since }) => goalOf(since, interval) !== undefined)
              ? [{ label: "Goal", tone: "goal" as const }]
              : []),
          ]}
          exports={<SeriesExports path="/v1/metrics/mrr/movements" params={compared} />}
          table={
            <Table
              caption="MRR over time"
              rows={series.toReversed()}
              rowKey={({ since }) => since}
              columns={[
                { head: "Period", cell: ({ since }) => intervalName(since.slice(0, 10), interval) },
                { head: "MRR at its end", isNumber: true, cell: ({ mrr }) => money(mrr, currency) },
              ]}
            />
          }
        >
          <LineChart
            isHigh
            label="MRR at the end of each period; the arrow keys move, Enter opens its movements"
            points={series.map(({ since, until, mrr }, index) => ({
              key: since,
              tick: intervalTick(since.slice(0, 10), interval),
              label: intervalName(since.slice(0, 10), interval),
              value: mrr,
              compared: data?.compare?.series?.[index]?.mrr,
              note: noteOf(since, until),
              goal: goalOf(since, interval),
              href: view.to("/mrr/movements", { ...daysOf(since, until), range: null }),
            }))}
            format={(value) => money(value, currency)}
            formatAxis={(value) => shortMoney(value, currency)}
          />
        </Figure>
        <ChangedCard hasFailed={error !== null} />
      </div>
      <div class="wide-and-narrow">
        <MovementBars
          rows={moved}
          interval={interval}
          currency={currency}
          isHigh
          isStale={movements.isStale}
          params={compared}
        />
        <Strip />
      </div>
      <MrrShares hasFailed={error !== null} />
      <NoteList />
    </>
  );
}

/** The days of an interval, the last one included whole. */
function daysOf(since: string, until: string): { readonly from: string; readonly to: string } {
  const end = Date.parse(until);
  const dayMs = 24 * 60 * 60 * 1000;
  const to = new Date(Math.ceil(end / dayMs) * dayMs).toISOString().slice(0, 10);
  return { from: since.slice(0, 10), to };
}

/** @param hasNoFigures by what the screen shows; a payment that ended or was refunded counts */
function useIsEmpty(hasNoFigures: boolean): boolean {
  const { isFrozen, filters } = useView();
  const isAsked = hasNoFigures && !isFrozen && Object.keys(filters).length === 0;
  const { answer } = useAnswer(isAsked ? "/v1/transactions" : null, { limit: "1" });
  return isAsked && answer !== null && answer.data.length === 0;
}
