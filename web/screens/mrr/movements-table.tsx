/** Balances and movements as a table; each amount opens the movements it is made of. */
import type { MovementsRow } from "../../../api/movement-series/schema.js";
import type { Interval } from "../../../schemas/http/series.js";
import { intervalName, range } from "../../format/dates.js";
import { count, money } from "../../format/numbers.js";
import { Table } from "../../parts/table.js";
import { useView } from "../../state/view.js";
import { type Kind, kindsIn } from "./kinds.js";
import { useUnreadHistory } from "../unread-history.js";

export function MovementsTable(props: {
  readonly rows: readonly MovementsRow[];
  readonly totals?: MovementsRow | undefined;
  /** Left out: rows are ranges of their own. */
  readonly interval?: Interval;
  readonly currency: string;
}) {
  const view = useView();
  const unreadHistory = useUnreadHistory();
  const { rows, totals, interval, currency } = props;
  const kinds = kindsIn(totals === undefined ? rows : [...rows, totals]);
  const href = (row: MovementsRow, kind: Kind | null): string =>
    view.to("/mrr/movements", { from: row.from, to: row.to, range: null, kind });
  const amount = (row: MovementsRow, value: number, kind: Kind | null) =>
    value === 0 ? (
      <span class="soft">{money(0, currency)}</span>
    ) : (
      <a class="row-link" href={href(row, kind)}>
        {money(value, currency)}
      </a>
    );
  return (
    <Table
      caption="Balances and movements"
      rows={rows}
      rowKey={(row) => row.from}
      columns={[
        {
          head: "Period",
          cell: (row) => (
            <>
              {interval === undefined ? range(row) : intervalName(row.from, interval)}
              {unreadHistory(row.from)}
            </>
          ),
          foot: totals === undefined ? undefined : "Whole range",
        },
        {
          head: "Start",
          isNumber: true,
          cell: (row) => money(row.start_mrr, currency),
          foot: totals && money(totals.start_mrr, currency),
        },
        ...kinds.map(({ kind, label, field }) => ({
          head: label,
          isNumber: true,
          cell: (row: MovementsRow) => amount(row, row[field], kind),
          foot: totals && money(totals[field], currency),
        })),
        {
          head: "End",
          isNumber: true,
          cell: (row) => money(row.end_mrr, currency),
          foot: totals && money(totals.end_mrr, currency),
        },
        {
          head: "Subscribers",
          isNumber: true,
          cell: (row) => (row.end_accounts === null ? "–" : count(row.end_accounts)),
          foot: totals && (totals.end_accounts === null ? "–" : count(totals.end_accounts)),
        },
      ]}
    />
  );
}
