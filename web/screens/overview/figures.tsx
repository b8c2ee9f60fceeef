/** The eight figures, each with its comparison and a small line, each a link to its screen. */
import type { ComponentChildren } from "preact";
import type { MovementsAnswer } from "../../../api/movement-series/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { Spark } from "../../charts/spark.js";
import type { DefinitionName } from "../../definitions.js";
import {
  change,
  count,
  decimal,
  money,
  percent,
  roundMoney,
  signedMoney,
  signedRoundMoney,
} from "../../format/numbers.js";
import { Delta } from "../../parts/delta.js";
import { Skeleton } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { useView } from "../../state/view.js";
import { comparedCall, momentOf } from "../compared-call.js";

type Movements = MovementsAnswer["data"];

export function Figures(props: {
  readonly movements: Movements | undefined;
  readonly movementsThen: Movements | undefined;
  readonly isStale: boolean;
}) {
  const view = useView();
  const { range, interval, filters, compared } = view;
  const { provider } = filters;
  const call = comparedCall(view);
  const revenueParams = { ...range, interval, ...filters };
  const revenue = useAnswer("/v1/metrics/revenue", revenueParams).answer?.data;
  const revenueThen = useAnswer(call === null ? null : "/v1/metrics/revenue", {
    ...revenueParams,
    ...call,
  }).answer?.data;
  const summary = useAnswer("/v1/metrics/summary", { provider, at: momentOf(view) }).answer?.data;
  const summaryThen = useAnswer(call === null ? null : "/v1/metrics/summary", {
    provider,
    at: compared === null ? momentOf(view) : `${compared.to}T00:00:00Z`,
    ...(compared === null ? { known_at: view.comparedKnownAt } : {}),
  }).answer?.data;

  const { movements: now, movementsThen: then } = props;
  const currency = now?.currency ?? "USD";
  const rows = now?.movements ?? [];
  const net = (data: Movements | undefined): number | undefined =>
    data === undefined ? undefined : data.totals.end_mrr - data.totals.start_mrr;
  const netNow = net(now);
  return (
    <section class={props.isStale ? "figures is-stale" : "figures"} aria-label="Figures">
      <Cell
        of="mrr"
        href={view.to("/mrr")}
        value={now?.totals.end_mrr}
        then={then?.totals.end_mrr}
        format={(value) => roundMoney(value, currency)}
        exact={(value) => money(value, currency)}
        spark={rows.map((row) => row.end_mrr)}
      />
      <Cell
        of="netNew"
        href={view.to("/mrr")}
        value={netNow}
        then={net(then)}
        format={(value) => signedRoundMoney(value, currency)}
        exact={(value) => signedMoney(value, currency)}
        spark={rows.map((row) => row.end_mrr - row.start_mrr)}
      />
      <Cell
        of="subscribers"
        href={view.to("/accounts")}
        value={now === undefined ? undefined : now.totals.end_accounts}
        then={then?.totals.end_accounts}
        format={count}
        spark={rows.map((row) => row.end_accounts ?? 0)}
      />
      <Cell
        of="revenue"
        href={view.to("/revenue")}
        value={revenue?.totals.revenue}
        then={revenueThen?.totals.revenue}
        format={(value) => roundMoney(value, currency)}
        exact={(value) => money(value, currency)}
        spark={(revenue?.revenue ?? []).map((row) => row.revenue)}
      />
      <Cell
        of="arr"
        href={view.to("/mrr")}
        value={summary?.arr}
        then={summaryThen?.arr}
        format={(value) => roundMoney(value, currency)}
        exact={(value) => money(value, currency)}
      />
      <Cell
        of="arpa"
        href={view.to("/mrr")}
        value={summary?.arpa}
        then={summaryThen?.arpa}
        format={(value) => money(value, currency)}
      />
      <Cell
        of="customerChurn"
        href={view.to("/mrr/movements", { kind: "churn" })}
        value={summary?.customer_churn_rate_pct}
        then={summaryThen?.customer_churn_rate_pct}
        format={(value) => percent(value, 2)}
        isInverse
      />
      <Cell
        of="quickRatio"
        href={view.to("/mrr")}
        value={summary?.quick_ratio}
        then={summaryThen?.quick_ratio}
        format={(value) => decimal(value)}
      />
    </section>
  );
}

function Cell(props: {
  readonly of: DefinitionName;
  readonly href: string;
  /** Undefined while it is on its way, null when there is none. */
  readonly value: number | null | undefined;
  readonly then: number | null | undefined;
  readonly format: (value: number) => string;
  /** The whole amount, for the title. */
  readonly exact?: (value: number) => string;
  readonly isInverse?: boolean;
  readonly spark?: readonly number[];
}) {
  const { value, then, format, exact = format } = props;
  const shown: ComponentChildren =
    value === undefined ? <Skeleton of="12,345" /> : value === null ? "–" : format(value);
  const compared =
    typeof value === "number" && typeof then === "number" ? change(value, then) : undefined;
  return (
    <div class="figure-cell">
      <Term of={props.of} />
      <a class="value" href={props.href} title={typeof value === "number" ? exact(value) : ""}>
        {shown}
      </a>
      <div class="beside">
        {compared === undefined ? (
          <span />
        ) : (
          <>
            <Delta change={compared} isInverse={props.isInverse === true} />
            <span class="soft">{typeof then === "number" ? format(then) : ""}</span>
          </>
        )}
      </div>
      {props.spark === undefined ? null : <Spark values={props.spark} />}
    </div>
  );
}
