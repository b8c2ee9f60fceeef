/** How much of each vintage is left, as a heat map that is a table. */
import type {
  AccountCohort,
  AccountCohortAverage,
  Cohort,
  CohortAverage,
} from "../../../api/cohorts/schema.js";
import type { DefinitionName } from "../../../schemas/definitions/index.js";
import { useAnswer } from "../../api/use-answer.js";
import { vintageName } from "../../format/dates.js";
import { count, decimal, money, percent } from "../../format/numbers.js";
import { OneOfMenu, chosenOf, oneOf } from "../../parts/menu.js";
import { Empty, Failure, SkeletonTable } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { Bar, comparisons } from "../../shell/bar.js";
import { workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";
import { compareParams } from "../compare-params.js";
import { ExportMenu, SeriesExports } from "../series-exports.js";
import { Curves } from "./curves.js";

const intervals = oneOf("interval", "month", { month: "Month", quarter: "Quarter", year: "Year" });
type Interval = keyof typeof intervals.labels;

const bases = oneOf("basis", "net", { net: "Net MRR", gross: "Gross MRR", accounts: "Accounts" });
type Basis = keyof typeof bases.labels;
const terms = { net: "nrr", gross: "grr", accounts: "accountRetention" } as const;

const definitions = oneOf<DefinitionName>("definition", "ours", {
  ours: "Ours",
  stripe: "Stripe Billing",
  chartmogul: "ChartMogul",
  profitwell: "ProfitWell Metrics",
  revenuecat: "RevenueCat",
});

const path = "/v1/metrics/cohorts";

export default function Retention() {
  const view = useView();
  const basis = chosenOf(view, bases);
  const interval = chosenOf(view, intervals);
  const definition = chosenOf(view, definitions);
  const isOurs = definition === "ours";
  const { currency: _currency, country: _country, ...parts } = view.mrrFilters;
  // Others are of whole accounts.
  const filters = isOurs ? parts : { provider: parts.provider, definition };
  const params = {
    ...(view.hasRange ? view.range : {}),
    average: "true",
    interval,
    ...filters,
    basis: basis === "accounts" ? "accounts" : null,
    gross: basis === "gross" ? "true" : null,
    ...compareParams(view),
  };
  const { answer, error, isStale } = useAnswer(path, params);
  const average = averageOf(answer?.data.average, basis);
  const then = averageOf(answer?.data.compare ?? undefined, basis);
  const currency = workspaceOf(view.workspace)?.base_currency ?? "USD";
  const rows = (answer?.data.cohorts ?? []).map((cohort) => rowOf(cohort, basis, currency));
  const width = Math.max(0, ...rows.map(({ curve }) => curve.length));
  const cellHref = (moment: { readonly at?: string }, vintage: string): string =>
    isOurs
      ? view.to("/accounts", { vintage, active: "true", ...moment })
      : view.to("/mrr/definitions", {
          definition,
          of: moment.at?.slice(0, "YYYY-MM-DD".length) ?? null,
        });
  return (
    <>
      <Bar
        title="Retention"
        controls={{
          range: "optional",
          compare: true,
          filters: isOurs ? ["provider", "product", "plan_interval", "vintage"] : ["provider"],
        }}
      >
        <OneOfMenu name="Of" of={bases} />
        <OneOfMenu name="By" of={intervals} />
        <OneOfMenu name="Definition" of={definitions} />
        <ExportMenu path={path} params={{ ...params, average: null }} />
      </Bar>
      <Failure error={error} />
      {answer === null && error === null ? <SkeletonTable rows={16} columns={10} /> : null}
      {answer !== null && rows.length === 0 ? (
        <Empty title="No subscribers yet" action={connectAction(view)}>
          A row appears for each {interval} in which accounts first had MRR.
        </Empty>
      ) : null}
      {rows.length === 0 ? null : (
        <>
          <p class="soft intro">
            <Term of={terms[basis]} /> of accounts by the {interval} they began in, in percent of
            what they began with. Columns count the {interval}s since then.{" "}
            {isOurs ? (
              "A cell opens its accounts."
            ) : (
              <>
                Counted by <a href={`/docs/definitions/${definition}.md`}>the rules</a> of{" "}
                {definitions.labels[definition]} at the end of each {interval}; a cell opens what
                they change then.
              </>
            )}
          </p>
          <Curves
            rows={rows}
            average={average}
            then={then}
            interval={interval}
            exports={<SeriesExports path={path} params={params} />}
            isStale={isStale}
          />
          <div
            class={isStale ? "table-holder is-stale" : "table-holder"}
            tabIndex={0}
            role="region"
            aria-label="Retention"
          >
            <table class="table heat">
              <thead>
                <tr>
                  <th scope="col">Began</th>
                  <th scope="col" class="number">
                    With
                  </th>
                  {Array.from({ length: width }, (_cell, index) => (
                    <th key={index} scope="col" class="number">
                      {index}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map(({ vintage, start, curve }) => (
                  <tr key={vintage}>
                    <th scope="row" class="tight">
                      {isOurs ? (
                        <a class="row-link" href={view.to("/accounts", { vintage })}>
                          {vintageName(vintage)}
                        </a>
                      ) : (
                        vintageName(vintage)
                      )}
                    </th>
                    <td class="number">{start}</td>
                    {curve.map((value, index) => (
                      <td key={index} class={`heat-${step(value)}`}>
                        <a
                          href={cellHref(momentAfter(vintage, index, interval, view.end), vintage)}
                          title={`${vintageName(vintage)}, ${interval} ${index}: ${percent(value)}`}
                        >
                          {decimal(value, value >= 100 ? 0 : 1)}
                        </a>
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
              <tfoot>
                {[
                  { label: "Average", curve: average },
                  { label: comparisons[view.comparison], curve: then },
                ].map(({ label, curve }) =>
                  curve.length === 0 ? null : (
                    <tr key={label}>
                      <th scope="row" class="tight">
                        {label}
                      </th>
                      <td />
                      {curve.slice(0, width).map((value, index) => (
                        <td key={index} class="number">
                          {decimal(value, value >= 100 ? 0 : 1)}
                        </td>
                      ))}
                    </tr>
                  ),
                )}
              </tfoot>
            </table>
          </div>
        </>
      )}
    </>
  );
}

function averageOf(
  average: CohortAverage | AccountCohortAverage | undefined,
  basis: Basis,
): readonly number[] {
  if (average === undefined) return [];
  const isGross = basis === "gross" && "gross_retention_curve" in average;
  return (isGross ? average.gross_retention_curve : average.retention_curve) ?? [];
}

export interface Row {
  readonly vintage: string;
  readonly start: string;
  readonly curve: readonly number[];
}

function rowOf(cohort: Cohort | AccountCohort, basis: Basis, currency: string): Row {
  const { vintage } = cohort;
  if ("starting_accounts" in cohort) {
    return { vintage, start: count(cohort.starting_accounts), curve: cohort.retention_curve };
  }
  const curve = basis === "gross" ? cohort.gross_retention_curve : cohort.retention_curve;
  return { vintage, start: money(cohort.starting_mrr, currency), curve: curve ?? [] };
}

/** 11 steps of one colour, from nothing left to more than there was. */
function step(value: number): number {
  return Math.max(0, Math.min(11, Math.floor(value / 10)));
}

/** The end of an interval so many after the vintage; nothing more for the one that is running. */
function momentAfter(
  vintage: string,
  intervalsAfter: number,
  interval: Interval,
  newest: number,
): { readonly at?: string } {
  const months = { month: 1, quarter: 3, year: 12 }[interval];
  const [year = 0, part] = vintage.split("-");
  const first =
    part === undefined ? 0 : part.startsWith("Q") ? (Number(part[1]) - 1) * 3 : Number(part) - 1;
  const end = Date.UTC(Number(year), first + months * (intervalsAfter + 1), 1);
  return end > newest ? {} : { at: new Date(end - 1).toISOString() };
}
