/** MRR by the definition of another tool beside ours, at the end of each month. */
import type { MovementsRow } from "../../../api/movement-series/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { LineChart } from "../../charts/line.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { money, shortMoney, signedMoney } from "../../format/numbers.js";
import { Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { dayBefore } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { SeriesExports } from "../series-exports.js";
import { Title } from "../titles.js";

const path = "/v1/metrics/mrr/movements";

export function OverTime(props: {
  readonly definition: string;
  readonly label: string;
  /** The moment that both are compared at. */
  readonly at: string | null;
}) {
  const { definition, label, at } = props;
  const view = useView();
  const { provider, segment } = view.filters;
  const params = { ...view.clocks, at, interval: "month", provider, segment };
  const theirs = useAnswer(path, { ...params, definition });
  const ours = useAnswer(path, params);
  const error = theirs.error ?? ours.error;
  if (error !== null) return <Failure error={error} />;
  const currency = theirs.answer?.data.currency ?? "USD";
  const rows = theirs.answer?.data.movements ?? [];
  const oursOf = new Map(ours.answer?.data.movements.map((row) => [row.from, row.end_mrr]));
  const name = ({ from }: MovementsRow) => intervalName(from, "month");
  return (
    <Figure
      title={<Title of="mrr">of {label} beside ours</Title>}
      name={`mrr-of-${definition}`}
      isStale={theirs.isStale || ours.isStale}
      legend={[
        { label, tone: "accent" },
        { label: "Ours", tone: "then" },
      ]}
      exports={<SeriesExports path={path} params={{ ...params, definition }} />}
      table={
        <Table
          caption={`MRR of ${label} beside ours`}
          rows={rows.toReversed()}
          rowKey={({ from }) => from}
          columns={[
            { head: "Month", cell: name },
            { head: label, isNumber: true, cell: (row) => money(row.end_mrr, currency) },
            {
              head: "Ours",
              isNumber: true,
              cell: ({ from }) => money(oursOf.get(from) ?? 0, currency),
            },
            {
              head: "Difference",
              isNumber: true,
              cell: (row) => signedMoney(row.end_mrr - (oursOf.get(row.from) ?? 0), currency),
            },
          ]}
        />
      }
    >
      <LineChart
        label="MRR at the end of each month; the arrow keys move, Enter compares the accounts then"
        points={rows.map((row) => ({
          key: row.from,
          tick: intervalTick(row.from, "month"),
          label: name(row),
          value: row.end_mrr,
          compared: oursOf.get(row.from),
          href: view.with({ of: dayBefore(row.to) }),
        }))}
        format={(value) => money(value, currency)}
        formatAxis={(value) => shortMoney(value, currency)}
      />
    </Figure>
  );
}
