/** The rows of Live. They change many times a second: each is drawn once, and few are. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Transaction } from "../../../schemas/http/transactions.js";
import { liveRows } from "../../api/live.js";
import { timeOrMoment } from "../../format/dates.js";
import { countryName, providerName, words } from "../../format/names.js";
import { money } from "../../format/numbers.js";
import { Empty } from "../../parts/states.js";
import { type Column, Table } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { passes } from "../../state/filter.js";
import { type View, useView } from "../../state/view.js";
import { Status } from "../transactions/status.js";

/** More rows than that nobody reads as they move. */
const shownMax = 100;

export function LiveRows(props: {
  /** The rows at the moment of the pause; null while they move. */
  readonly paused: readonly Transaction[] | null;
  readonly booked: readonly Transaction[];
  readonly open: string | null;
}) {
  const view = useView();
  const columns = useMemo(() => columnsOf(view), [view]);
  const seen = useRowsSeen();
  const { provider, currency, country, product } = view.filters;
  const rows = (props.paused ?? newest(view, props.booked))
    .filter(
      (row) =>
        passes(provider, row.provider) &&
        passes(currency, row.original_currency) &&
        passes(country, row.customer_country) &&
        passes(product, row.product_id),
    )
    .slice(0, props.paused === null ? Math.min(seen, shownMax) : shownMax);
  if (rows.length === 0) {
    return (
      <Empty
        title="Waiting for the next transaction"
        action={{ href: view.to("/transactions"), label: "Transactions so far" }}
      >
        It appears here within seconds of its event.
      </Empty>
    );
  }
  return (
    <div class="live-rows">
      <Table
        caption="Transactions as they are booked, newest first"
        rows={rows}
        rowKey={({ id }) => id}
        isCurrent={({ id }) => id === props.open}
        columns={columns}
      />
    </div>
  );
}

function columnsOf(view: View): readonly Column<Transaction>[] {
  return [
    {
      head: "Paid",
      cell: (row) => (
        <a class="row-link tight" href={view.with({ open: row.id })}>
          <When at={row.timestamp} format={timeOrMoment} />
        </a>
      ),
    },
    { head: "Product", cell: (row) => row.product_name },
    {
      head: "Amount",
      isNumber: true,
      cell: (row) => money(row.gross_amount, row.original_currency),
    },
    {
      head: "Converted",
      isNumber: true,
      cell: (row) => money(row.normalized_amount, row.base_currency),
    },
    { head: "Status", cell: (row) => <Status of={row} /> },
    { head: "Type", cell: ({ type }) => words(type) },
    { head: "Provider", cell: (row) => providerName(row.provider) },
    { head: "Country", cell: (row) => countryName(row.customer_country) },
  ];
}

const rowPxMin = 28;
/** Rows are added so many at a time as somebody scrolls down. */
const rowsStep = 5;

/** How many rows reach from the top of the page to the lower end of the window. */
function useRowsSeen(): number {
  const [seen, setSeen] = useState(rowsSeen);
  useEffect(() => {
    const look = (): void => setSeen(rowsSeen());
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, []);
  return seen;
}

function rowsSeen(): number {
  return Math.ceil((scrollY + innerHeight) / rowPxMin / rowsStep) * rowsStep;
}

/** One socket serves all screens: of a segment there is what is listed, asked for again. */
export function newest(view: View, booked: readonly Transaction[]): readonly Transaction[] {
  const live = view.get("segment") === null ? liveRows.value : [];
  const ids = new Set(live.map(({ id }) => id));
  return [...live, ...booked.filter(({ id }) => !ids.has(id))];
}
