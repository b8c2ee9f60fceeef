/** How MRR got from its start to its end: a waterfall, the movements over time, the table. */
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { Waterfall } from "../../charts/waterfall.js";
import { day } from "../../format/dates.js";
import { money, shortMoney, signedMoney } from "../../format/numbers.js";
import { Compared, ComparedWith } from "../../parts/compared.js";
import { Empty, Failure } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { NoteList } from "../../shell/annotations.js";
import { Bar } from "../../shell/bar.js";
import { mayManage, workspaceOf } from "../../state/session.js";
import { mrrFilterNames, useView } from "../../state/view.js";
import { dayBefore } from "../../state/ranges.js";
import { connectAction } from "../connect-action.js";
import { compareParams } from "../compare-params.js";
import { GroupMenu } from "../group-menu.js";
import { groupOf, groupsAsked, mrrGroupNames } from "../groups.js";
import { SeriesExports } from "../series-exports.js";
import { MrrShares } from "../shares.js";
import { Title, fromTo } from "../titles.js";
import { Balances } from "./balances.js";
import { MovementBars } from "./movement-bars.js";
import { kindsIn } from "./kinds.js";
import { MovementsTable } from "./movements-table.js";

export default function Mrr() {
  const view = useView();
  const { range, interval, mrrFilters: filters } = view;
  const group = groupOf(view.get("group_by"), mrrGroupNames);
  const params = { ...view.asked, interval, ...filters, ...compareParams(view) };
  const { answer, error, isStale } = useAnswer("/v1/metrics/mrr/movements", {
    ...params,
    group_by: group,
    groups: group && groupsAsked,
  });
  const data = answer?.data;
  const movements = data?.ungrouped ?? data?.movements ?? [];
  const currency = data?.currency ?? "USD";
  const totals = data?.totals;
  const then = data?.compare ?? undefined;
  const isEmpty =
    totals !== undefined &&
    totals.start_mrr === 0 &&
    (then?.end_mrr ?? 0) === 0 &&
    kindsIn([totals]).every(({ field }) => totals[field] === 0);
  return (
    <>
      <Bar
        title="MRR"
        controls={{
          range: true,
          interval: true,
          compare: true,
          filters: mrrFilterNames,
        }}
      >
        <GroupMenu none="All together" names={mrrGroupNames} />
        <a class="button" href={view.to("/what-changed", { ...range, range: null })}>
          What changed
        </a>
        {mayManage(workspaceOf(view.workspace)) ? (
          <a class="button" href={view.to("/settings/alerts", { figure: "mrr" })}>
            Alert
          </a>
        ) : null}
        <a class="button" href={view.to("/mrr/definitions")}>
          Definitions
        </a>
      </Bar>
      <Failure error={error} />
      {isEmpty ? (
        <Empty title="No recurring revenue in this time" action={connectAction(view)}>
          Choose a longer range or fewer filters, or connect a provider that sells subscriptions.
        </Empty>
      ) : (
        <>
          <div class="pair">
            <Figure
              title={
                <Title of="mrr">
                  {totals && fromTo(totals.start_mrr, totals.end_mrr, currency)}
                </Title>
              }
              name="mrr-waterfall"
              isStale={isStale}
              table={
                <MovementsTable rows={totals === undefined ? [] : [totals]} currency={currency} />
              }
              exports={<SeriesExports path="/v1/metrics/mrr/movements" params={params} />}
            >
              <Waterfall
                label="MRR from the start to the end of the range"
                format={(value) => money(value, currency)}
                formatAxis={(value) => shortMoney(value, currency)}
                steps={
                  totals === undefined
                    ? []
                    : [
                        {
                          key: "start",
                          label: "Start",
                          value: totals.start_mrr,
                          isBalance: true,
                          tone: "balance",
                          href: view.to("/accounts", {
                            at: `${range.from}T00:00:00Z`,
                            active: "true",
                          }),
                        },
                        ...kindsIn([totals]).map(({ kind, label, field }) => ({
                          key: kind,
                          label,
                          value: totals[field],
                          isBalance: false,
                          tone: kind,
                          href: view.to("/mrr/movements", { kind }),
                        })),
                        {
                          key: "end",
                          label: "End",
                          value: totals.end_mrr,
                          isBalance: true,
                          tone: "balance",
                          href: view.to("/accounts", { active: "true" }),
                        },
                      ]
                }
              />
            </Figure>
            <dl class={then === undefined ? "facts side-facts" : "facts side-facts compared"}>
              {then === undefined ? null : <ComparedWith time={then} />}
              {totals === undefined ? null : (
                <>
                  <dt>MRR on {day(range.from)}</dt>
                  <dd class="number">{money(totals.start_mrr, currency)}</dd>
                  <Compared value={totals.start_mrr} then={then?.start_mrr} currency={currency} />
                  {kindsIn([totals]).map(({ kind, field }) => (
                    <>
                      <dt>
                        <span class={`mark tone-${kind}`} />
                        <Term of={kind} />
                      </dt>
                      <dd class="number">
                        <a class="row-link" href={view.to("/mrr/movements", { kind })}>
                          {signedMoney(totals[field], currency)}
                        </a>
                      </dd>
                      <Compared
                        value={totals[field]}
                        then={then?.[field]}
                        currency={currency}
                        isLoss={kind === "contraction" || kind === "churn"}
                      />
                    </>
                  ))}
                  <dt>
                    <strong>MRR at the end of {day(dayBefore(range.to))}</strong>
                  </dt>
                  <dd class="number">
                    <strong>{money(totals.end_mrr, currency)}</strong>
                  </dd>
                  <Compared value={totals.end_mrr} then={then?.end_mrr} currency={currency} />
                </>
              )}
            </dl>
          </div>
          <MovementBars
            rows={movements}
            interval={interval}
            currency={currency}
            isStale={isStale}
            params={params}
          />
          {group === null ? null : (
            <Balances
              rows={data?.ungrouped === undefined ? [] : data.movements}
              others={data?.others}
              group={group}
              interval={interval}
              currency={currency}
              isStale={isStale}
              params={{ ...params, group_by: group }}
            />
          )}
          <NoteList />
          <MrrShares hasFailed={error !== null} />
          <h2 class="table-title">By {interval}</h2>
          <MovementsTable
            rows={movements.toReversed()}
            totals={totals}
            interval={interval}
            currency={currency}
          />
        </>
      )}
    </>
  );
}
