/** From gross to net, over time and by group. */
import { Fragment } from "preact";
import type { RevenueAnswer } from "../../../api/revenue/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { BarChart } from "../../charts/bars.js";
import { Figure } from "../../charts/figure.js";
import { Waterfall } from "../../charts/waterfall.js";
import { intervalName, intervalTick } from "../../format/dates.js";
import { change, count, money, percent, roundMoney, shortMoney } from "../../format/numbers.js";
import { words } from "../../format/names.js";
import { Compared, ComparedWith } from "../../parts/compared.js";
import { Delta } from "../../parts/delta.js";
import { Empty, Failure } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { NoteList, useAnnotations } from "../../shell/annotations.js";
import { Bar } from "../../shell/bar.js";
import { useGoals } from "../../shell/goals.js";
import { filterNames, useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";
import { compareParams } from "../compare-params.js";
import { GroupMenu } from "../group-menu.js";
import {
  breakdownOf,
  filterOf,
  groupKey,
  groupNames,
  groupOf,
  groupsAsked,
  largestOf,
} from "../groups.js";
import { SeriesExports } from "../series-exports.js";
import { RevenueShares } from "../shares.js";
import { RevenueTitle, ShareTitle, Title } from "../titles.js";
import { RevenueTable } from "./revenue-table.js";
import { stepsOf } from "./steps.js";

const path = "/v1/metrics/revenue";

export default function Revenue() {
  const view = useView();
  const { asked, interval, filters } = view;
  const noteOf = useAnnotations();
  const goalOf = useGoals("revenue");
  const group = groupOf(view.get("group_by"), groupNames);
  const params = { ...asked, interval, ...filters, ...compareParams(view) };
  const { answer, error, isStale } = useAnswer(path, {
    ...params,
    group_by: group,
    groups: group && groupsAsked,
  });
  const data = answer?.data;
  const intervals = data?.ungrouped ?? data?.revenue ?? [];
  const currency = data?.currency ?? "USD";
  const isEmpty =
    data !== undefined &&
    data.totals.sales === 0 &&
    data.totals.revenue === 0 &&
    (data.compare?.sales ?? 0) === 0;
  const href = (row: { readonly from: string; readonly to: string }): string =>
    view.to("/transactions", { from: row.from, to: row.to, range: null });
  return (
    <>
      <Bar
        title="Revenue"
        controls={{
          range: true,
          interval: true,
          compare: true,
          filters: filterNames,
        }}
      >
        <GroupMenu none="All together" names={groupNames} />
      </Bar>
      <Failure error={error} />
      {isEmpty ? (
        <Empty title="No sales in this time" action={connectAction(view)}>
          Choose a longer range or fewer filters, or connect a provider.
        </Empty>
      ) : (
        <>
          <div class="pair">
            <Figure
              title={
                <Title of="net">
                  {data &&
                    `is ${roundMoney(data.totals.net, currency)} of ` +
                      `${roundMoney(data.totals.gross, currency)} gross`}
                </Title>
              }
              name="gross-to-net"
              isStale={isStale}
              table={
                <RevenueTable rows={data === undefined ? [] : [data.totals]} currency={currency} />
              }
              exports={<SeriesExports path={path} params={params} />}
            >
              <Waterfall
                label="From gross to net over the whole range"
                format={(value) => money(value, currency)}
                formatAxis={(value) => shortMoney(value, currency)}
                steps={data === undefined ? [] : stepsOf(data.totals, view)}
              />
            </Figure>
            {data === undefined ? null : (
              <Totals totals={data.totals} then={data.compare ?? undefined} currency={currency} />
            )}
          </div>
          {revenueBars()}
          <NoteList />
          {group === null || data?.group_totals === undefined ? null : (
            <>
              <h2 class="table-title">By {words(group).toLowerCase()}, the largest net first</h2>
              <RevenueTable
                rows={data.group_totals.toSorted((one, other) => other.net - one.net)}
                totals={data.totals}
                group={group}
                currency={currency}
              />
              {data.others === undefined || data.others.count === 0 ? null : (
                <p class="soft small">
                  {count(data.others.count)} smaller{" "}
                  {data.others.count === 1 ? "one is" : "ones are"} not listed; the sum has them.
                </p>
              )}
            </>
          )}
          <RevenueShares hasFailed={error !== null} />
          <h2 class="table-title">By {interval}</h2>
          <RevenueTable
            rows={intervals.toReversed()}
            totals={data?.totals}
            interval={interval}
            currency={currency}
          />
        </>
      )}
    </>
  );

  function revenueBars() {
    const answered = {
      rows: data?.ungrouped === undefined ? [] : data.revenue,
      others: data?.others,
    };
    const { rows, groups } =
      group === null
        ? { rows: intervals, groups: [] }
        : breakdownOf(answered, group, (row) => row.revenue);
    const columns = Map.groupBy(rows, (row) => row.from);
    return (
      <Figure
        title={
          group === null ? (
            <RevenueTitle rows={intervals} interval={interval} currency={currency} />
          ) : (
            <ShareTitle
              of="revenue"
              name="revenue"
              otherwise={`Revenue by ${group}`}
              largest={largestOf(
                (data?.group_totals ?? []).map((row) => ({
                  ...groupKey(row, group),
                  value: row.revenue,
                })),
              )}
              whole={data?.totals.revenue ?? 0}
            />
          )
        }
        name="revenue"
        isStale={isStale}
        legend={[
          ...groups,
          ...(intervals.some(({ from }) => goalOf(from, interval) !== undefined)
            ? [{ label: "Goal", tone: "goal" as const }]
            : []),
        ]}
        exports={
          <SeriesExports path={path} params={group ? { ...params, group_by: group } : params} />
        }
        table={
          <RevenueTable
            rows={rows.toReversed()}
            interval={interval}
            group={group}
            groups={groups}
            currency={currency}
          />
        }
      >
        <BarChart
          label="Revenue over time; the arrow keys move, Enter opens its transactions"
          format={(value) => money(value, currency)}
          formatAxis={(value) => shortMoney(value, currency)}
          bars={[...columns].map(([from, cells]) => ({
            key: from,
            tick: intervalTick(from, interval),
            label: intervalName(from, interval),
            href: href({ from, to: cells[0]?.to ?? from }),
            note: noteOf(from, cells[0]?.to ?? from),
            goal: goalOf(from, interval),
            total: group === null ? undefined : intervals.find((row) => row.from === from)?.revenue,
            segments:
              group === null
                ? cells.map((row) => ({
                    key: from,
                    label: "Revenue",
                    value: row.revenue,
                    tone: "accent" as const,
                    href: href(row),
                  }))
                : groups.flatMap(({ key, label, tone }) => {
                    const row = cells.find((cell) => groupKey(cell, group).key === key);
                    if (row === undefined) return [];
                    const days = { from: row.from, to: row.to, range: null };
                    return [
                      {
                        key,
                        label,
                        value: row.revenue,
                        tone,
                        href: view.to("/transactions", { ...days, ...filterOf(key, group) }),
                      },
                    ];
                  }),
          }))}
        />
      </Figure>
    );
  }
}

type TotalsOf = RevenueAnswer["data"]["totals"];

/** As they are written: what is taken off is below 0. */
const facts = [
  { of: "gross", isTakenOff: false, isLoss: false, isSum: false },
  { of: "refunds", isTakenOff: false, isLoss: true, isSum: false },
  { of: "disputes", isTakenOff: false, isLoss: true, isSum: false },
  { of: "revenue", isTakenOff: false, isLoss: false, isSum: true },
  { of: "tax", isTakenOff: true, isLoss: true, isSum: false },
  { of: "fees", isTakenOff: true, isLoss: true, isSum: false },
  { of: "net", isTakenOff: false, isLoss: false, isSum: true },
] as const;

function Totals(props: {
  readonly totals: TotalsOf;
  readonly then: TotalsOf | undefined;
  readonly currency: string;
}) {
  const { totals, then, currency } = props;
  const part = (missing: number, { sales }: TotalsOf): number | null =>
    sales === 0 ? null : (missing / sales) * 100;
  const text = (value: number | null, isTakenOff: boolean): string =>
    value === null ? "not reported" : money(isTakenOff ? -value : value, currency);
  const missing = (label: string, field: "sales_without_tax" | "sales_without_fee") => {
    const [share, shareThen] = [part(totals[field], totals), then && part(then[field], then)];
    return (
      <>
        <dt>{label}</dt>
        <dd>
          {count(totals[field])} ({share === null ? "–" : percent(share, 1)})
        </dd>
        {shareThen === undefined ? null : (
          <dd class="small">
            {share === null || shareThen === null ? null : (
              <Delta
                change={share - shareThen}
                unit="points"
                isInverse
                title={`Compared with ${percent(shareThen, 1)}`}
              />
            )}
          </dd>
        )}
      </>
    );
  };
  return (
    <dl class={then === undefined ? "facts side-facts" : "facts side-facts compared"}>
      {then === undefined ? null : <ComparedWith time={then} />}
      {facts.map(({ of, isTakenOff, isLoss, isSum }) => (
        <Fragment key={of}>
          <dt>
            {isSum ? (
              <strong>
                <Term of={of} />
              </strong>
            ) : (
              <Term of={of} />
            )}
          </dt>
          <dd>
            {isSum ? <strong>{text(totals[of], isTakenOff)}</strong> : text(totals[of], isTakenOff)}
          </dd>
          <Compared value={totals[of]} then={then?.[of]} currency={currency} isLoss={isLoss} />
        </Fragment>
      ))}
      <dt>
        <Term of="sales" />
      </dt>
      <dd>{count(totals.sales)}</dd>
      {then === undefined ? null : (
        <dd class="small">
          <Delta
            change={change(totals.sales, then.sales)}
            title={`Compared with ${count(then.sales)}`}
          />
        </dd>
      )}
      {missing("Without a reported tax", "sales_without_tax")}
      {missing("Without a reported fee", "sales_without_fee")}
    </dl>
  );
}
