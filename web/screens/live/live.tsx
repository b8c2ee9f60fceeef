/** Every transaction as it is booked: drawn once a frame, paused and filtered here. */
import { useState } from "preact/hooks";
import type { Transaction } from "../../../schemas/http/transactions.js";
import { liveGap, liveSeconds, liveState } from "../../api/live.js";
import { useAnswer } from "../../api/use-answer.js";
import { count } from "../../format/numbers.js";
import { Icon } from "../../parts/icon.js";
import { Failure } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";
import { filterNames, useView } from "../../state/view.js";
import { TransactionDrawer } from "../transactions/transaction-drawer.js";
import { LiveRows, newest } from "./live-rows.js";

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
