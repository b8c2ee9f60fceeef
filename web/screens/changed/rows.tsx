/** Lines of what changed: who, by how much, by which kinds of movements. */
import type { ListedWhatChangedRow } from "../../../api/what-changed/schema.js";
import { providerName } from "../../format/names.js";
import { count, signedMoney } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { type Column, Table } from "../../parts/table.js";
import type { Range } from "../../state/ranges.js";
import { type View, useView } from "../../state/view.js";
import { filterOf, groupKey } from "../groups.js";
import { kinds } from "../mrr/kinds.js";
import type { Tab } from "./tabs.js";

export function ChangedRows(props: {
  readonly caption: string;
  readonly rows: readonly ListedWhatChangedRow[];
  readonly by: Tab;
  readonly days: Range;
  readonly currency: string;
}) {
  const view = useView();
  const { by, days, currency } = props;
  const columns: readonly (Column<ListedWhatChangedRow> | null)[] = [
    { head: heads[by], cell: (row) => <Name row={row} by={by} days={days} /> },
    {
      head: "Difference",
      isNumber: true,
      cell: ({ difference }) => signedMoney(difference, currency),
    },
    { head: "By", cell: (row) => <Kinds row={row} currency={currency} /> },
    {
      head: "Movements",
      isNumber: true,
      cell: (row) => (
        <a class="row-link" href={movementsOf(view, row, by, days)}>
          {count(row.movements)}
        </a>
      ),
    },
    by === "account"
      ? { head: "Provider", cell: ({ provider }) => providerName(provider ?? "") }
      : null,
  ];
  return (
    <Table
      caption={props.caption}
      rows={props.rows}
      rowKey={(row) => keyOf(row, by)}
      columns={columns.filter((column) => column !== null)}
    />
  );
}

const heads = {
  account: "Account",
  product: "Product",
  country: "Country",
  provider: "Provider",
  plan_interval: "Billed",
} as const;

function keyOf(row: ListedWhatChangedRow, by: Tab): string {
  return by === "account" ? (row.account ?? "") : groupKey(row, by).key;
}

/** An account opens its time line, anything else the movements it is made of. */
export function Name(props: {
  readonly row: ListedWhatChangedRow;
  readonly by: Tab;
  readonly days: Range;
}) {
  const view = useView();
  const { row, by, days } = props;
  if (by === "account") {
    return <AccountLink account={row.account ?? ""} customer={row.customer} />;
  }
  return (
    <a class="row-link" href={movementsOf(view, row, by, days)}>
      {groupKey(row, by).label}
    </a>
  );
}

function movementsOf(view: View, row: ListedWhatChangedRow, by: Tab, days: Range): string {
  const key = keyOf(row, by);
  const part = by === "account" ? { account: key } : filterOf(key, by);
  return view.to("/mrr/movements", { range: null, ...days, ...part });
}

export function Kinds(props: { readonly row: ListedWhatChangedRow; readonly currency: string }) {
  const { row, currency } = props;
  const moved = kinds.filter(({ field }) => row.kinds[field] !== 0);
  return (
    <>
      {moved.map(({ kind, label, field }) => (
        <span key={kind} class="tight kind">
          <span class={`mark tone-${kind}`} />
          {moved.length === 1 ? label : `${label} ${signedMoney(row.kinds[field], currency)}`}
        </span>
      ))}
    </>
  );
}
