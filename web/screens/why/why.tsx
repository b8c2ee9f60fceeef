/** What we knew when: two readings of one figure, and the events that make the difference. */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import type { MrrChangesAnswer } from "../../../api/mrr-changes/schema.js";
import { completeTo, useAnswer } from "../../api/use-answer.js";
import { bothMoments, day, moment } from "../../format/dates.js";
import { providerName } from "../../format/names.js";
import { count, money, signedMoney } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { More, usePages } from "../../parts/pages.js";
import { Reading } from "../../parts/reading.js";
import { Empty, Failure, SkeletonTable } from "../../parts/states.js";
import { Table, orderIn } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { When } from "../../parts/when.js";
import { Bar } from "../../shell/bar.js";
import { dayText } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { EventLink, MovementKind } from "../cells.js";
import { Tabs } from "../changed/tabs.js";
import { ExportMenu } from "../series-exports.js";

const path = "/v1/metrics/mrr/changes";
const dayMs = 24 * 60 * 60 * 1000;
/** How far back the slider reaches. */
const daysMax = 365;

type Change = MrrChangesAnswer["data"][number];

const sorts = ["-recorded_at", "recorded_at", "-at", "at", "-mrr", "mrr"] as const;

export default function Why() {
  const view = useView();
  const latest = view.knownAt ?? completeTo.value;
  const from = view.get("from_known_at") ?? `${dayText(Date.now() - 30 * dayMs)}T00:00:00.000Z`;
  const moments = { from_known_at: from, to_known_at: view.knownAt };
  // The moment both readings are of: the end of the day before the first one, unless chosen.
  const at = view.get("of") ?? from;
  const { provider, segment } = view.filters;
  const order = orderIn(view, sorts);
  const params = { ...moments, at, provider, segment, sort: order.sort };
  const { answer, error, isStale } = useAnswer(path, { ...params, known_at: null });
  const list = usePages<Change>(path, { ...view.tenant, ...params }, answer);
  const readings = answer?.readings;
  return (
    <>
      <Bar title="What changed" controls={{ filters: ["provider"] }}>
        <ExportMenu path={path} params={{ ...params, known_at: null }} />
      </Bar>
      <Tabs shown="known" />
      <p class="soft intro">
        <Term of="known" /> of MRR on {bothMoments(at)}: as it was known on {day(from)} (UTC), and
        as it is known {latest === null ? "now" : `on ${moment(latest)}`}.
      </p>
      <Slider from={from} />
      <Failure error={error} />
      {readings === undefined ? null : (
        <div class={isStale ? "readings is-stale" : "readings"}>
          <Reading
            label={`As known on ${day(readings.from.known_at)}`}
            value={money(readings.from.mrr, readings.currency)}
            note={subscribers(readings.from)}
          />
          <Reading
            label={`As known on ${day(readings.to.known_at)}`}
            value={money(readings.to.mrr, readings.currency)}
            note={subscribers(readings.to)}
          />
          <Reading
            label="Difference"
            value={signedMoney(readings.difference.mrr, readings.currency)}
            note={subscribers(readings.difference)}
          />
        </div>
      )}
      {answer === null && error === null ? <SkeletonTable rows={8} columns={5} /> : null}
      {answer?.data.length === 0 ? (
        <Empty title="Nothing changed">
          No event that was recorded between the two readings says anything new about that moment.
        </Empty>
      ) : null}
      {list.rows.length === 0 ? null : (
        <>
          <Table
            caption="What makes the difference"
            order={order}
            rows={list.rows}
            rowKey={(row) =>
              `${row.event_id} ${row.account} ${row.subscription} ${row.at} ${row.mrr_exact}`
            }
            columns={[
              {
                head: "Recorded",
                sort: "-recorded_at",
                cell: (row) => <When at={row.recorded_at} />,
                foot: answer?.totals && `All ${count(answer.totals.changes)}`,
              },
              { head: "Dated", sort: "-at", cell: (row) => <When at={row.at} /> },
              { head: "Kind", cell: ({ kind }) => <MovementKind kind={kind} /> },
              {
                head: "MRR",
                sort: "-mrr",
                isNumber: true,
                cell: ({ mrr }) => signedMoney(mrr, readings?.currency ?? "USD"),
                foot: readings && signedMoney(readings.difference.mrr, readings.currency),
              },
              {
                head: "Account",
                cell: ({ account }) => <AccountLink account={account} customer={null} />,
              },
              { head: "Product", cell: (row) => row.product_name },
              { head: "Provider", cell: (row) => providerName(row.provider) },
              { head: "Event", cell: ({ event_id: id }) => <EventLink id={id} /> },
            ]}
          />
          <More of={list} />
        </>
      )}
    </>
  );
}

/** The first reading, by days; the URL follows when the slider is let go. */
function Slider({ from }: { readonly from: string }) {
  const view = useView();
  const { route } = useLocation();
  const today = Date.parse(dayText(Date.now()));
  const daysBefore = Math.max(0, Math.round((today - Date.parse(from)) / dayMs));
  const [shown, setShown] = useState(daysBefore);
  useEffect(() => setShown(daysBefore), [daysBefore]);
  const momentOf = (days: number): string => new Date(today - days * dayMs).toISOString();
  const of = view.get("of") ?? from;
  return (
    <div class="slider">
      <label>
        As we knew it on <strong>{day(momentOf(shown))}</strong> at 00:00 UTC
        <input
          type="range"
          min={-daysMax}
          max={0}
          step={1}
          value={-shown}
          onInput={(event) => setShown(-Number(event.currentTarget.value))}
          onChange={(event) => {
            const known = momentOf(-Number(event.currentTarget.value));
            // Without a moment of its own, both readings are of the first one's.
            route(view.with({ from_known_at: known, of: view.get("of") }), true);
          }}
        />
      </label>
      <label>
        MRR of{" "}
        <input
          type="date"
          value={of.slice(0, 10)}
          max={dayText(view.end)}
          onChange={(event) => {
            const { value } = event.currentTarget;
            route(view.with({ of: value === "" ? null : `${value}T00:00:00.000Z` }));
          }}
        />
      </label>
    </div>
  );
}

function subscribers({
  active_subscribers: many,
}: {
  readonly active_subscribers: number;
}): string {
  return `${count(many)} subscribers`;
}
