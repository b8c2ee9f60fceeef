/** Gross to net as a table; each row opens its transactions. */
import type { ComponentChild } from "preact";
import type { RevenueAnswer, RevenueRow } from "../../../api/revenue/schema.js";
import type { Interval } from "../../../schemas/http/series.js";
import { intervalName, range } from "../../format/dates.js";
import { words } from "../../format/names.js";
import { count, money } from "../../format/numbers.js";
import { Table } from "../../parts/table.js";
import { useView } from "../../state/view.js";
import { type Group, type GroupName, filterOf, groupKey } from "../groups.js";
import { useUnreadHistory } from "../unread-history.js";

/** Tax and fees are subtracted; refunds and disputes are below 0 by themselves. */
const amounts = [
  { field: "gross", head: "Gross", sign: 1 },
  { field: "refunds", head: "Refunds", sign: 1 },
  { field: "disputes", head: "Disputes", sign: 1 },
  { field: "revenue", head: "Revenue", sign: 1 },
  { field: "tax", head: "Tax", sign: -1 },
  { field: "fees", head: "Fees", sign: -1 },
  { field: "net", head: "Net", sign: 1 },
] as const;

export function RevenueTable(props: {
  readonly rows: readonly RevenueRow[];
  readonly totals?: RevenueAnswer["data"]["totals"] | undefined;
  /** Left out: a row is the whole range, of one group where there are several. */
  readonly interval?: Interval;
  readonly group?: GroupName | null;
  readonly groups?: readonly Group[];
  readonly currency: string;
}) {
  const view = useView();
  const unreadHistory = useUnreadHistory();
  const { rows, totals, interval, group = null, groups = [], currency } = props;
  const amount = (value: number | null, sign: number): string =>
    value === null ? "–" : money(sign * value, currency);
  const link = (row: RevenueRow, text: ComponentChild) => (
    <a
      class="row-link tight"
      href={view.to("/transactions", {
        from: row.from,
        to: row.to,
        range: null,
        ...(group === null ? {} : filterOf(groupKey(row, group).key, group)),
      })}
    >
      {text}
    </a>
  );
  const isByGroup = interval === undefined && group !== null;
  return (
    <Table
      caption={isByGroup ? `Net by ${words(group).toLowerCase()}` : "From gross to net"}
      rows={rows}
      rowKey={(row) => `${row.from} ${group === null ? "" : groupKey(row, group).key}`}
      columns={[
        ...(isByGroup
          ? []
          : [
              {
                head: "Period",
                cell: (row: RevenueRow) => (
                  <>
                    {link(row, interval ? intervalName(row.from, interval) : range(row))}
                    {unreadHistory(row.from)}
                  </>
                ),
                foot: totals === undefined ? undefined : "Whole range",
              },
            ]),
        ...(group === null
          ? []
          : [
              {
                head: words(group),
                cell: (row: RevenueRow) => {
                  const { key, label } = groupKey(row, group);
                  if (isByGroup) return link(row, label);
                  return groups.find((one) => one.key === key)?.label;
                },
                foot: isByGroup ? "All" : undefined,
              },
            ]),
        ...amounts.map(({ field, head, sign }) => ({
          head,
          isNumber: true,
          cell: (row: RevenueRow) => amount(row[field], sign),
          foot: totals && amount(totals[field], sign),
        })),
        {
          head: "Sales",
          isNumber: true,
          cell: (row) => count(row.sales),
          foot: totals && count(totals.sales),
        },
      ]}
    />
  );
}
