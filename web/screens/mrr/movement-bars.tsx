/** Movements over time, stacked by kind. */
import type { MovementsRow } from "../../../api/movement-series/schema.js";
import type { Interval } from "../../../schemas/http/series.js";
import type { Params } from "../../api/client.js";
import { BarChart } from "../../charts/bars.js";
import { Figure } from "../../charts/figure.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { shortMoney, signedMoney } from "../../format/numbers.js";
import { useAnnotations } from "../../shell/annotations.js";
import { useView } from "../../state/view.js";
import { SeriesExports } from "../series-exports.js";
import { NetNewTitle } from "../titles.js";
import { kindsIn } from "./kinds.js";
import { MovementsTable } from "./movements-table.js";

export function MovementBars(props: {
  readonly rows: readonly MovementsRow[];
  readonly interval: Interval;
  readonly currency: string;
  readonly isStale: boolean;
  readonly params: Params;
  readonly isHigh?: boolean;
}) {
  const view = useView();
  const { rows, interval, currency } = props;
  const kinds = kindsIn(rows);
  const noteOf = useAnnotations();
  return (
    <Figure
      title={<NetNewTitle rows={rows} interval={interval} currency={currency} />}
      name="mrr-movements"
      legend={kinds.map(({ kind, label }) => ({ label, tone: kind }))}
      isStale={props.isStale}
      exports={<SeriesExports path="/v1/metrics/mrr/movements" params={props.params} />}
      table={<MovementsTable rows={rows.toReversed()} interval={interval} currency={currency} />}
    >
      <BarChart
        isHigh={props.isHigh}
        label="Movements of MRR over time; the arrow keys move, Enter opens them"
        format={(value) => signedMoney(value, currency)}
        formatAxis={(value) => shortMoney(value, currency)}
        bars={rows.map((row) => {
          const days = { from: row.from, to: row.to, range: null };
          return {
            key: row.from,
            tick: intervalTick(row.from, interval),
            label: intervalName(row.from, interval),
            href: view.to("/mrr/movements", days),
            note: noteOf(row.from, row.to),
            total: row.end_mrr - row.start_mrr,
            segments: kinds.map(({ kind, label, field }) => ({
              key: kind,
              label,
              value: row[field],
              tone: kind,
              href: view.to("/mrr/movements", { ...days, kind }),
            })),
          };
        })}
      />
    </Figure>
  );
}
