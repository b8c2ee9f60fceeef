/** Every transaction as it is booked: drawn once a frame, paused and filtered here. */
import { useState, useEffect, useMemo } from "preact/hooks";
import type { Transaction } from "../../../schemas/http/transactions.js";
import { liveGap, liveSeconds, liveState, liveRows } from "../../api/live.js";
import { useAnswer } from "../../api/use-answer.js";
import { count, money } from "../../format/numbers.js";
import { Icon } from "../../parts/icon.js";
import { Failure, Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";
import { filterNames, useView, type View } from "../../state/view.js";
import { TransactionDrawer } from "../transactions/transaction-drawer.js";
import { timeOrMoment } from "../../format/dates.js";
import { countryName, providerName, words } from "../../format/names.js";
import { type Column, Table } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { passes } from "../../state/filter.js";
import { Status } from "../transactions/status.js";

const states = {
  off: "Off: figures are frozen",
  connecting: "Connecting",
  live: "Live",
  waiting: "Connection lost; tries again by itself",
  refused: "Not allowed; sign in again",
} as const;

export default function Live() {
  const view = useView();
  const [paused, setPaused] = useState<readonly Transaction[] | null>(null);
  const open = view.get("open");
  // Until something comes, and below it: the newest that are booked.
  const segment = view.get("segment");
  const { answer, error } = useAnswer(view.isFrozen ? null : "/v1/transactions", {
    limit: "50",
    segment,
  });
  const booked = answer?.data ?? [];
  const state = liveState.value;
  return (
    <>
      <Bar title="Live feed" controls={{ filters: filterNames }}>
        <button
          type="button"
          class="button"
          aria-pressed={paused !== null}
          onClick={() => setPaused(paused === null ? newest(view, booked) : null)}
        >
          <Icon name={paused === null ? "pause" : "play"} />
          {paused === null ? "Pause" : "Resume"}
        </button>
      </Bar>
      <div class="live-head">
        <p class={state === "live" ? "badge live" : "badge"} role="status">
          {states[state]}
        </p>
        <Rate isPart={Object.keys(view.filters).length > 0} />
      </div>
      {liveGap.value ? (
        <p class="test-note">
          Some transactions were missed while this page slept; the list of transactions has them.
        </p>
      ) : null}
      <Failure error={error} />
      <LiveRows paused={paused} booked={booked} open={open} />
      {open === null ? null : <TransactionDrawer id={open} />}
    </>
  );
}

/** Versions of transactions in each of the last 60 seconds. */
function Rate({ isPart }: { readonly isPart: boolean }) {
  const rates = liveSeconds.value.map(({ all }) => all);
  const most = Math.max(1, ...rates);
  const last = liveSeconds.value.slice(-10);
  const all = last.reduce((sum, second) => sum + second.all, 0);
  const skipped = last.reduce((sum, second) => sum + second.skipped, 0);
  return (
    <div class="rate">
      <svg viewBox="0 0 120 24" preserveAspectRatio="none" aria-hidden="true">
        {rates.map((rate, index) => (
          <rect
            key={index}
            x={index * 2}
            width={1.4}
            y={24 - (rate / most) * 24}
            height={(rate / most) * 24}
          />
        ))}
      </svg>
      <span class="soft small">
        {count(all)} in the last 10 seconds{isPart ? ", in all" : ""}
        {skipped === 0 ? "" : `, ${count(skipped)} of them not listed`}
      </span>
    </div>
  );
}

/** More rows than that nobody reads as they move. */
const shownMax = 100;

/** They change many times a second: each is drawn once, and few are. */
function LiveRows(props: {
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
function newest(view: View, booked: readonly Transaction[]): readonly Transaction[] {
  const live = view.get("segment") === null ? liveRows.value : [];
  const ids = new Set(live.map(({ id }) => id));
  return [...live, ...booked.filter(({ id }) => !ids.has(id))];
}
