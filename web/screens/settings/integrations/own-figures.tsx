/** Figures as a provider's own dashboard has them, month by month, beside ours. */
import type { OwnFigureBeside } from "../../../../schemas/reconciliation.js";
import type { ReconciliationView } from "../../../api/manage-answers.js";
import { month as monthName } from "../../../format/dates.js";
import { count, minorMoney } from "../../../format/numbers.js";
import { Table } from "../../../parts/table.js";

const names: Readonly<Record<OwnFigureBeside["figure"], string>> = {
  mrr: "MRR at the end",
  revenue: "Revenue, net",
  refunds: "Refunds, less tax",
  chargebacks: "Chargebacks",
};

export function OwnFigures({ of, by }: { readonly of: ReconciliationView; readonly by: string }) {
  const months = of.months.toReversed();
  const rows = months.flatMap(({ month, report }) =>
    (report?.own_figures ?? []).map((figure) => ({ ...figure, month })),
  );
  const problem = months.find(({ report }) => report?.own_figures_problem)?.report;
  if (rows.length === 0 && problem === undefined) return null;
  const written = ({ currency, exponent }: OwnFigureBeside, minor: number | null) => {
    if (minor === null) return <span class="soft">–</span>;
    return currency === null ? count(minor) : minorMoney(minor, { currency, exponent });
  };
  const amount = (head: string, minorOf: (row: OwnFigureBeside) => number | null) => {
    const cell = (row: OwnFigureBeside) => written(row, minorOf(row));
    return { head, isNumber: true, cell };
  };
  return (
    <details class="not-to-be-had">
      <summary>Figures as {by} shows them</summary>
      {problem ? <p class="soft">{problem.own_figures_problem}</p> : null}
      <Table
        caption={`Figures of ${by} beside ours`}
        rows={rows}
        rowKey={({ month, figure }) => `${month} ${figure}`}
        columns={[
          { head: "Month", cell: ({ month }) => monthName(`${month}-01`) },
          { head: "What", cell: ({ figure }) => names[figure] },
          amount(`At ${by}`, (row) => row.listed_minor),
          amount("Ours, counted alike", (row) => row.booked_minor),
          amount("Our figure", (row) => row.figure_minor),
        ]}
      />
      <ul class="soft">
        <li>Net is less tax and fees, before refunds and disputes. Our revenue is the reverse.</li>
        {[...new Set(rows.flatMap(({ why }) => why ?? []))].map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </details>
  );
}
