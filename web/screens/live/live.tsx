/** Every transaction as it is booked: drawn once a frame, paused and filtered here. */
import { useState } from "preact/hooks";
import type { Transaction } from "../../../schemas/http/transactions.js";
import { liveGap, liveRows, liveSeconds, liveState } from "../../api/live.js";
import { useAnswer } from "../../api/use-answer.js";
import { shortMoment, time } from "../../format/dates.js";
import { countryName, providerName, words } from "../../format/names.js";
import { count, money } from "../../format/numbers.js";
import { Icon } from "../../parts/icon.js";
import { Empty } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Bar } from "../../shell/bar.js";
import { dayText } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { Status } from "../transactions/status.js";
import { TransactionDrawer } from "../transactions/transaction-drawer.js";

/** More rows than that nobody reads as they move. */
const shownMax = 100;

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
  const { provider, currency, country, product } = view.filters;
  // Until something comes, and below it: the newest that are booked.
  const { answer } = useAnswer(view.isFrozen ? null : "/v1/transactions", { limit: "50" });
  const booked = answer?.data ?? [];
  const rows = (paused ?? withBooked(liveRows.value, booked))
    .filter(
      (row) =>
        isOrAny(row.provider, provider) &&
        isOrAny(row.original_currency, currency) &&
        isOrAny(row.customer_country, country) &&
        isOrAny(row.product_id, product),
    )
    .slice(0, shownMax);
  const state = liveState.value;
  return (
    <>
      <Bar title="Live" controls={{ filters: ["provider", "product", "currency", "country"] }}>
        <button
          type="button"
          class="button"
          aria-pressed={paused !== null}
          onClick={() => setPaused(paused === null ? withBooked(liveRows.value, booked) : null)}
        >
          <Icon name={paused === null ? "pause" : "play"} />
          {paused === null ? "Pause" : "Resume"}
        </button>
      </Bar>
      <div class="live-head">
        <p class={state === "live" ? "badge live" : "badge"} role="status">
          {states[state]}
        </p>
        <Rate />
      </div>
      {liveGap.value ? (
        <p class="test-note">
          Some transactions were missed while this page slept; the list of transactions has them.
        </p>
      ) : null}
      {rows.length === 0 ? (
        <Empty
          title="Waiting for the next transaction"
          action={{ href: view.to("/transactions"), label: "Transactions so far" }}
        >
          It appears here within two seconds of its event.
        </Empty>
      ) : (
        <Table
          caption="Transactions as they are booked, newest first"
          rows={rows}
          rowKey={({ id }) => id}
          isCurrent={({ id }) => id === open}
          columns={[
            {
              key: "time",
              head: "Paid",
              cell: (row) => (
                <a class="row-link tight" href={view.with({ open: row.id })}>
                  {paidAt(row)}
                </a>
              ),
            },
            { key: "product", head: "Product", cell: (row) => row.product_name },
            {
              key: "amount",
              head: "Amount",
              isNumber: true,
              cell: (row) => money(row.gross_amount, row.original_currency),
            },
            {
              key: "normalized",
              head: "Converted",
              isNumber: true,
              cell: (row) => money(row.normalized_amount, row.base_currency),
            },
            { key: "status", head: "Status", cell: (row) => <Status of={row} /> },
            { key: "type", head: "Type", cell: ({ type }) => words(type) },
            { key: "provider", head: "Provider", cell: (row) => providerName(row.provider) },
            {
              key: "country",
              head: "Country",
              cell: (row) => countryName(row.customer_country),
            },
          ]}
        />
      )}
      {open === null ? null : <TransactionDrawer id={open} />}
    </>
  );
}

function withBooked(
  live: readonly Transaction[],
  booked: readonly Transaction[],
): readonly Transaction[] {
  const ids = new Set(live.map(({ id }) => id));
  return [...live, ...booked.filter(({ id }) => !ids.has(id))];
}

function isOrAny(value: string, wanted: string | undefined): boolean {
  return wanted === undefined || value === wanted;
}

/** A new version may be of a payment of long ago. */
function paidAt({ timestamp }: Transaction): string {
  const isToday = timestamp.slice(0, 10) === dayText(Date.now());
  return isToday ? time(timestamp) : shortMoment(timestamp);
}

/** Versions of transactions in each of the last 60 seconds. */
function Rate() {
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
        {count(all)} in the last 10 seconds
        {skipped === 0 ? "" : `, ${count(skipped)} of them not listed`}
      </span>
    </div>
  );
}
