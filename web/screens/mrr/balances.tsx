/** MRR at the end of each interval, stacked by group. */
import type { MovementsAnswer, MovementsRow } from "../../../api/movement-series/schema.js";
import type { Interval } from "../../../schemas/http/series.js";
import type { Params } from "../../api/client.js";
import { BarChart } from "../../charts/bars.js";
import { Figure } from "../../charts/figure.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { words } from "../../format/names.js";
import { money, shortMoney } from "../../format/numbers.js";
import { Table } from "../../parts/table.js";
import { useAnnotations } from "../../shell/annotations.js";
import { useGoals } from "../../shell/goals.js";
import { useView } from "../../state/view.js";
import { type GroupName, breakdownOf, filterOf, groupKey, largestOf } from "../groups.js";
import { SeriesExports } from "../series-exports.js";
import { ShareTitle } from "../titles.js";

export function Balances(props: {
  readonly rows: readonly MovementsRow[];
  readonly others: MovementsAnswer["data"]["others"];
  readonly group: GroupName;
  readonly interval: Interval;
  readonly currency: string;
  readonly isStale: boolean;
  readonly params: Params;
}) {
  const view = useView();
  const noteOf = useAnnotations();
  const goalOf = useGoals("mrr");
  const { group, interval, currency } = props;
  const by = words(group).toLowerCase();
  const { groups, rows } = breakdownOf(props, group, (row) => row.end_mrr);
  const columns = Map.groupBy(rows, (row) => row.from);
  const valueOf = (from: string, key: string): number =>
    columns.get(from)?.find((row) => groupKey(row, group).key === key)?.end_mrr ?? 0;
  const [last = ""] = [...columns.keys()].slice(-1);
  const ends = groups.map(({ key, label }) => ({ key, label, value: valueOf(last, key) }));
  return (
    <Figure
      title={
        <ShareTitle
          of="mrr"
          name="MRR"
          otherwise={`MRR by ${by}`}
          largest={largestOf(ends)}
          whole={ends.reduce((sum, { value }) => sum + value, 0)}
        />
      }
      name={`mrr-by-${group}`}
      isStale={props.isStale}
      legend={groups}
      exports={<SeriesExports path="/v1/metrics/mrr/movements" params={props.params} />}
      table={
        <Table
          caption={`MRR by ${by}`}
          rows={[...columns.keys()].toReversed()}
          rowKey={(from) => from}
          columns={[
            { head: "Period", cell: (from) => intervalName(from, interval) },
            ...groups.map(({ key, label }) => ({
              head: label,
              isNumber: true,
              cell: (from: string) => money(valueOf(from, key), currency),
            })),
          ]}
        />
      }
    >
      <BarChart
        label={`MRR at the end of each ${interval} by ${by}`}
        format={(value) => money(value, currency)}
        formatAxis={(value) => shortMoney(value, currency)}
        bars={[...columns].map(([from, [first]]) => ({
          key: from,
          tick: intervalTick(from, interval),
          label: intervalName(from, interval),
          href: view.to("/mrr/movements", { from, to: first?.to, range: null }),
          note: noteOf(from, first?.to ?? from),
          goal: goalOf(from, interval),
          segments: groups.map(({ key, label, tone }) => ({
            key,
            label,
            value: valueOf(from, key),
            tone,
            href: view.to("/mrr/movements", {
              from,
              to: first?.to,
              range: null,
              ...filterOf(key, group),
            }),
          })),
        }))}
      />
    </Figure>
  );
}
