/** The first screen: eight figures, MRR over time, and what comes in now. */
import { LineChart } from "../../charts/line.js";
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { money, shortMoney } from "../../format/numbers.js";
import { Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { Bar } from "../../shell/bar.js";
import { useView } from "../../state/view.js";
import { comparedCall } from "../compared-call.js";
import { SeriesExports } from "../series-exports.js";
import { Figures } from "./figures.js";
import { Strip } from "./strip.js";

export default function Overview() {
  const view = useView();
  const { range, interval, filters } = view;
  const then = comparedCall(view);
  const params = { ...range, interval, ...filters };
  const movements = useAnswer("/v1/metrics/mrr/movements", params);
  const movementsThen = useAnswer(then === null ? null : "/v1/metrics/mrr/movements", {
    ...params,
    ...then,
  });
  const error = movements.error;
  const data = movements.answer?.data;
  const dataThen = then === null ? undefined : movementsThen.answer?.data;
  return (
    <>
      <Bar
        title="Overview"
        controls={{ range: true, interval: true, compare: true, filters: ["provider", "product"] }}
      />
      {error === null ? null : <Failure error={error} />}
      <Figures movements={data} movementsThen={dataThen} isStale={movements.isStale} />
      <div class="overview-rest">
        <Figure
          title={<Term of="mrr" label="MRR over time" />}
          name="mrr"
          isStale={movements.isStale}
          exports={<SeriesExports path="/v1/metrics/mrr/movements" params={params} />}
          table={
            <Table
              caption="MRR over time"
              rows={data?.movements.toReversed() ?? []}
              rowKey={({ from }) => from}
              columns={[
                {
                  key: "from",
                  head: "Period",
                  cell: (row) => intervalName(row.from, interval),
                },
                {
                  key: "mrr",
                  head: "MRR at its end",
                  isNumber: true,
                  cell: (row) => money(row.end_mrr, data?.currency ?? "USD"),
                },
              ]}
            />
          }
        >
          <LineChart
            height="high"
            label="MRR at the end of each period; the arrow keys move, Enter opens its movements"
            points={
              data?.movements.map((row, index) => ({
                key: row.from,
                tick: intervalTick(row.from, interval),
                label: intervalName(row.from, interval),
                value: row.end_mrr,
                compared: dataThen?.movements[index]?.end_mrr,
                href: view.to("/mrr/movements", { from: row.from, to: row.to, range: null }),
              })) ?? []
            }
            format={(value) => money(value, data?.currency ?? "USD")}
            formatAxis={(value) => shortMoney(value, data?.currency ?? "USD")}
          />
        </Figure>
        <Strip />
      </div>
    </>
  );
}
