/**
 * Where a figure comes from: countries, products and providers with their shares. A click filters
 * by one, a second one removes it. Each list leaves its own filter out, so that there is more to
 * choose from; all other filters hold.
 */
import type { MovementsAnswer } from "../../api/movement-series/schema.js";
import type { RevenueAnswer } from "../../api/revenue/schema.js";
import type { GroupFields } from "../../schemas/http/series.js";
import { type Loaded, useAnswer } from "../api/use-answer.js";
import { count, money, percent } from "../format/numbers.js";
import { Failure, Skeleton } from "../parts/states.js";
import { filterOf, filterText, toggled } from "../state/filter.js";
import { dayBefore, dayText } from "../state/ranges.js";
import { type View, useView } from "../state/view.js";
import { type GroupName, groupKey } from "./groups.js";

const groups = [
  { by: "country", title: "Countries" },
  { by: "product", title: "Products" },
  { by: "provider", title: "Providers" },
] as const satisfies readonly { readonly by: GroupName; readonly title: string }[];
type SharedBy = (typeof groups)[number];

const shownMax = 8;
/** Where all are asked for; of more, the rest is counted. */
const allMax = 200;

interface Props {
  /** The screen says already what went wrong. */
  readonly hasFailed: boolean;
}

export function MrrShares({ hasFailed }: Props) {
  return (
    <section class="shares" aria-label="Shares of MRR at the end of the range">
      {groups.map((group) => (
        <MrrShare key={group.by} {...group} hasFailed={hasFailed} />
      ))}
    </section>
  );
}

export function RevenueShares({ hasFailed }: Props) {
  return (
    <section class="shares" aria-label="Shares of revenue in the range">
      {groups.map((group) => (
        <RevenueShare key={group.by} {...group} hasFailed={hasFailed} />
      ))}
    </section>
  );
}

/** What each list asks for, beside its own filter, which it leaves out. */
function partsOf(view: View, by: GroupName) {
  return { [by]: null, group_by: by, groups: String(view.get("all") === by ? allMax : shownMax) };
}

function MrrShare(props: SharedBy & Props) {
  const view = useView();
  const last = [dayBefore(view.range.to), dayText(view.end)].toSorted()[0] ?? view.range.to;
  const loaded = useAnswer("/v1/metrics/mrr/movements", {
    // Only balances at the end are shown: a month from its first day takes the fewest sums.
    from: `${last.slice(0, 7)}-01`,
    to: view.range.to,
    interval: "month",
    ...view.mrrFilters,
    ...partsOf(view, props.by),
  });
  const data = loaded.answer?.data;
  const rows = data?.movements.map((row) => ({ row, value: row.end_mrr }));
  const whole = data?.totals.end_mrr;
  return <ShareList figure="MRR" {...props} {...loaded} {...{ data, rows, whole }} />;
}

function RevenueShare(props: SharedBy & Props) {
  const view = useView();
  const loaded = useAnswer("/v1/metrics/revenue", {
    ...view.range,
    interval: "year",
    ...view.filters,
    ...partsOf(view, props.by),
  });
  const data = loaded.answer?.data;
  const rows = data?.group_totals?.map((row) => ({ row, value: row.revenue }));
  const whole = data?.totals.revenue;
  return <ShareList figure="Revenue" {...props} {...loaded} {...{ data, rows, whole }} />;
}

function ShareList(
  props: SharedBy &
    Props &
    Pick<Loaded<unknown>, "error" | "isStale"> & {
      readonly figure: string;
      readonly data: MovementsAnswer["data"] | RevenueAnswer["data"] | undefined;
      readonly rows: readonly { readonly row: GroupFields; readonly value: number }[] | undefined;
      readonly whole: number | undefined;
    },
) {
  const view = useView();
  const { by, data, rows = [], whole = 0 } = props;
  const currency = data?.currency ?? "USD";
  const others = data?.others?.count ?? 0;
  const filter = filterOf(view.get(by));
  const isWhole = view.get("all") === by;
  const othersText = `${count(others)} ${others === 1 ? "other" : "others"}`;
  const shown = rows
    .map(({ row, value }) => ({ ...groupKey(row, by), value }))
    .filter(({ value }) => value !== 0)
    .toSorted((one, other) => other.value - one.value);
  const largest = Math.max(0, ...shown.map(({ value }) => value));
  const partOf = (value: number): string => (whole > 0 ? percent((value / whole) * 100, 1) : "–");
  return (
    <div class={props.isStale ? "share-list is-stale" : "share-list"}>
      <h2>
        {props.title} <span class="soft small">{props.figure}</span>
      </h2>
      <Failure error={props.hasFailed ? null : props.error} />
      <ul>
        {shown.map(({ key, label, value }) => {
          const isChosen = filter.values.includes(key);
          return (
            <li key={key}>
              <a
                href={view.with({ [by]: filterText(toggled(filter, key)) })}
                class={isChosen && filter.isNot ? "share is-out" : "share"}
                aria-current={isChosen ? "true" : undefined}
                title={isChosen ? "Remove this filter" : "Filter by it"}
              >
                <span
                  class="share-bar"
                  style={{ width: `${largest > 0 ? (Math.max(0, value) / largest) * 100 : 0}%` }}
                />
                <span class="cut">{label}</span>
                <span class="number">{money(value, currency)}</span>
                <span class="number soft">{partOf(value)}</span>
              </a>
            </li>
          );
        })}
        {others === 0 ? null : (
          <li class="soft small share-others">
            {isWhole ? othersText : <a href={view.with({ all: by })}>{othersText}</a>}
          </li>
        )}
        {props.rows !== undefined && shown.length === 0 ? (
          <li class="soft">Nothing here.</li>
        ) : null}
        {props.rows === undefined && props.error === null
          ? Array.from({ length: 4 }, (_row, index) => (
              <li key={index}>
                <Skeleton of="A name and its amount" />
              </li>
            ))
          : null}
      </ul>
    </div>
  );
}
