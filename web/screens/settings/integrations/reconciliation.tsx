/** Each month of an integration beside the provider's list, and what differs. */
import type {
  CostDifference,
  Difference,
  DifferenceReason,
  MonthReport,
  Side,
} from "../../../../schemas/reconciliation.js";
import { call } from "../../../api/client.js";
import type { One, ProviderView, ReconciliationView } from "../../../api/manage-answers.js";
import { useReloadWhile, useUrl } from "../../../api/use-answer.js";
import { month as monthName } from "../../../format/dates.js";
import { count, minorMoney, percent } from "../../../format/numbers.js";
import { ActionButton } from "../../../parts/action-form.js";
import { Failure } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useAction } from "../../../parts/use-action.js";
import { When } from "../../../parts/when.js";
import { useView } from "../../../state/view.js";
import { useMayManage } from "../manage.js";
import { Limits, type OfIntegration, PaymentLink, bothSides } from "./of-integration.js";
import { OwnFigures } from "./own-figures.js";

type Month = ReconciliationView["months"][number];
type Currency = MonthReport["currencies"][number];

export function Reconciliation({ integration, provider, path }: OfIntegration) {
  const view = useView();
  const isManager = useMayManage();
  const url = `${path}/reconciliation`;
  const { answer, error } = useUrl<One<ReconciliationView>>(url);
  const found = answer?.data ?? null;
  const isWaiting = found?.months.some(({ state }) => state === "waiting") === true;
  useReloadWhile(isWaiting);
  const opened = found?.months.find(({ month }) => month === view.get("month"));
  return (
    <section>
      <h3>Beside {provider.name}'s own list</h3>
      <Failure error={error} />
      {found === null ? null : (
        <>
          <Score of={found} provider={provider} />
          <Months of={found} provider={provider} />
          <Costs of={found} integration={integration} provider={provider} />
          <OwnFigures of={found} by={provider.name} />
          {opened?.report ? (
            <Differences {...{ integration, provider, path }} of={opened} report={opened.report} />
          ) : null}
          {isManager ? <Compare of={found} url={url} isWaiting={isWaiting} /> : null}
          <Limits summary="What is not compared" sentences={found.not_compared} />
        </>
      )}
    </section>
  );
}

function Score({
  of,
  provider,
}: {
  readonly of: ReconciliationView;
  readonly provider: ProviderView;
}) {
  const { score_pct: score, months_compared: compared, months } = of;
  if (compared === 0) {
    return (
      <p class="soft">
        What is booked can be compared with what {provider.name} lists, month by month, to the cent.
        It is done every night, given credentials for its API.
      </p>
    );
  }
  const newest = months.flatMap(({ compared_at: at }) => at ?? []).reduce(later);
  return (
    <p>
      {score === null ? "Nothing was paid" : <strong>{percent(score, 2)} agree to the cent</strong>}
      <span class="soft">
        {" "}
        in {count(compared)} of the last {count(months.length)} months, compared last{" "}
        <When at={newest} />
      </span>
    </p>
  );
}

/** Of two moments as the interface writes them. */
function later(one: string, other: string): string {
  return one > other ? one : other;
}

/** One row for each currency of a month; a month without any has one, too. */
interface Row {
  readonly of: Month;
  readonly currency: Currency | null;
  readonly isFirst: boolean;
}

function Months({
  of,
  provider,
}: {
  readonly of: ReconciliationView;
  readonly provider: ProviderView;
}) {
  const view = useView();
  const rows = of.months
    .filter(({ state, report }) => state !== "none" && (state !== "done" || isAnyPaid(report)))
    .toReversed()
    .flatMap((month): Row[] => {
      const currencies = month.report?.currencies ?? [];
      return currencies.length === 0
        ? [{ of: month, currency: null, isFirst: true }]
        : currencies.map((currency, place) => ({ of: month, currency, isFirst: place === 0 }));
    });
  if (rows.length === 0) return null;
  const [problem, ...others] = new Set(rows.map((row) => row.of.problem));
  if (problem && others.length === 0 && rows.every(({ of: month }) => month.report === null)) {
    return <p class="loss">Not compared. {problem}</p>;
  }
  return (
    <Table
      caption={`Months beside the list of ${provider.name}`}
      rows={rows}
      rowKey={(row) => `${row.of.month} ${row.currency?.currency ?? ""}`}
      isCurrent={(row) => row.of.month === view.get("month")}
      columns={[
        { head: "Month", cell: (row) => <MonthState of={row.of} isFirst={row.isFirst} /> },
        { head: "Agree", isNumber: true, cell: ({ currency }) => scoreOf(currency) },
        ...bothSides<Row>(provider.name, ({ currency }, side) => sumOf(currency, side)),
        {
          head: "Differences",
          isNumber: true,
          cell: ({ of: { month, report }, isFirst }) => {
            if (!isFirst || report === null) return null;
            if (report.differences_total === 0) return <span class="soft">None</span>;
            return <a href={view.with({ month })}>{count(report.differences_total)}</a>;
          },
        },
      ]}
    />
  );
}

/** Months without payments on either side say nothing. */
function isAnyPaid(report: MonthReport | null): boolean {
  return report !== null && report.currencies.length > 0;
}

function MonthState({ of, isFirst }: Pick<Row, "of" | "isFirst">) {
  const { month, state, problem } = of;
  const name = monthName(`${month}-01`);
  if (!isFirst) return <span class="soft tight">{name}</span>;
  return (
    <>
      <span class="tight">{name}</span>
      {state === "waiting" ? <span class="soft"> waiting</span> : null}
      {state === "failed" ? <span class="loss"> not compared</span> : null}
      {problem === null ? null : <div class="small soft problem">{problem}</div>}
    </>
  );
}

function scoreOf(currency: Currency | null) {
  if (currency === null || currency.score_pct === null) return <span class="soft">–</span>;
  const { score_pct: score } = currency;
  return <span class={score === 100 ? undefined : "loss"}>{percent(score, 2)}</span>;
}

/** What was paid, less what was refunded and what disputes took for now. */
function sumOf(of: Currency | null, side: "listed" | "booked") {
  if (of === null) return <span class="soft">–</span>;
  const { amount_minor: paid, refunded_minor: refunded, ...disputes } = of[side];
  const disputed = disputes.disputed_minor - disputes.reinstated_minor;
  return minorMoney(paid - refunded - disputed, of);
}

const costNames: Readonly<Record<CostDifference["kind"], string>> = { fee: "Fees", tax: "Taxes" };
const disputeNames = {
  disputed_minor: "Taken by disputes",
  reinstated_minor: "Given back",
} as const;

interface CostRow extends Pick<Currency, "currency" | "exponent"> {
  readonly month: string;
  readonly what: string;
  readonly listed_minor: number;
  readonly booked_minor: number;
  /** How many payments; of disputes only whether any. */
  readonly differing: number | boolean;
}

function costRows({ month, report }: Month): CostRow[] {
  const disputes = (report?.currencies ?? []).flatMap(({ listed, booked, ...currency }) =>
    (["disputed_minor", "reinstated_minor"] as const).map((name) => ({
      ...currency,
      month,
      what: disputeNames[name],
      listed_minor: listed[name],
      booked_minor: booked[name],
      differing: listed[name] !== booked[name],
    })),
  );
  return [
    ...disputes.filter(({ listed_minor: theirs, booked_minor: ours }) => theirs + ours > 0),
    ...(report?.costs ?? []).map((cost) => ({ ...cost, month, what: costNames[cost.kind] })),
  ];
}

/** What was taken of the payments: by disputes, and of those that both sides have. */
function Costs(props: Omit<OfIntegration, "path"> & { readonly of: ReconciliationView }) {
  const { of, provider } = props;
  const rows = of.months.toReversed().flatMap(costRows);
  if (rows.length === 0) return null;
  const differing = of.months.flatMap(({ report }) => report?.cost_differences ?? []);
  return (
    <details class="not-to-be-had" open={differing.length > 0}>
      <summary>Disputes, fees and taxes</summary>
      <Table
        caption={`Disputes, fees and taxes beside the list of ${provider.name}`}
        rows={rows}
        rowKey={({ month, currency, what }) => `${month} ${currency} ${what}`}
        columns={[
          { head: "Month", cell: ({ month }) => monthName(`${month}-01`) },
          { head: "What", cell: ({ what }) => what },
          ...bothSides<CostRow>(provider.name, (row, side) =>
            minorMoney(row[`${side}_minor`], row),
          ),
          {
            head: "Differ",
            isNumber: true,
            cell: ({ differing: payments }) =>
              Number(payments) === 0 ? (
                <span class="soft">None</span>
              ) : (
                <span class="loss">{payments === true ? "Yes" : count(Number(payments))}</span>
              ),
          },
        ]}
      />
      {differing.length === 0 ? null : <CostDifferences {...props} rows={differing} />}
    </details>
  );
}

function CostDifferences(
  props: Omit<OfIntegration, "path"> & {
    readonly of: ReconciliationView;
    readonly rows: readonly CostDifference[];
  },
) {
  const { of, rows, integration, provider } = props;
  const known = of.months.flatMap(({ report }) => report?.costs ?? []);
  const exponents = new Map(known.map(({ currency, exponent }) => [currency, exponent]));
  const written = (minor: number | null, { currency }: CostDifference) => {
    if (minor === null) return <span class="soft">–</span>;
    return minorMoney(minor, { currency, exponent: exponents.get(currency) ?? 2 });
  };
  return (
    <Table
      caption="Payments whose fee or tax differs"
      rows={rows}
      rowKey={({ payment, kind }) => `${payment} ${kind}`}
      columns={[
        {
          head: "Payment",
          cell: ({ payment, transaction }) => (
            <PaymentLink id={payment} {...{ transaction, integration }} />
          ),
        },
        { head: "What", cell: ({ kind }) => costNames[kind] },
        ...bothSides<CostDifference>(provider.name, (row, side) =>
          written(row[`${side}_minor`], row),
        ),
      ]}
    />
  );
}

/** Of the months shown. */
function Compare(props: {
  readonly of: ReconciliationView;
  readonly url: string;
  readonly isWaiting: boolean;
}) {
  const { of, url, isWaiting } = props;
  const action = useAction();
  return (
    <>
      <Failure error={action.error} />
      <p>
        <ActionButton
          action={action}
          act={() => {
            const body = { from: of.from, to: of.to };
            return call("POST", url, { body });
          }}
          isDisabled={isWaiting}
        >
          {isWaiting ? "Comparing…" : `Compare the last ${count(of.months.length)} months`}
        </ActionButton>
      </p>
    </>
  );
}

const reasons: Readonly<Record<DifferenceReason, string>> = {
  amount_differs: "Another amount",
  other_currency: "Another currency",
  not_told: "No event came",
  not_at_provider: "Not in the list",
  rejected: "Its event is a reject",
  mirrored: "Another integration reports it",
  before_connection: "Before the connection",
  told_later: "Its event came later",
  not_listed: "No list has it",
};

/** What reading the history can bring. */
const fetchable: ReadonlySet<DifferenceReason> = new Set([
  "amount_differs",
  "other_currency",
  "not_told",
  "before_connection",
]);

function Differences(props: OfIntegration & { readonly of: Month; readonly report: MonthReport }) {
  const { of, report, path, provider, integration } = props;
  const { month } = of;
  const view = useView();
  const isManager = useMayManage();
  const action = useAction();
  const name = monthName(`${month}-01`);
  const isMissing = report.differences.some(({ reason }) => fetchable.has(reason));
  const exponents = new Map(report.currencies.map((one) => [one.currency, one.exponent]));
  const amount = (side: Side | null, { dispute }: Difference) => {
    if (side === null) return <span class="soft">–</span>;
    const ofMinor = (minor: number): string =>
      minorMoney(minor, { ...side, exponent: exponents.get(side.currency) ?? 2 });
    const { amount_minor: paid, refunded_minor: refunded } = side;
    if (dispute !== null) {
      return `${ofMinor(paid + refunded)} ${refunded > 0 ? "given back" : "taken"}`;
    }
    return (
      <>
        {ofMinor(paid)}
        {refunded === 0 ? null : <div class="soft small">{ofMinor(refunded)} refunded</div>}
      </>
    );
  };
  return (
    <div class="differences">
      <h4>
        Differences of {name} <a href={view.with({ month: null })}>Close</a>
      </h4>
      <Failure error={action.error} />
      <Table
        caption={`Payments and disputes of ${name} that differ`}
        rows={report.differences}
        rowKey={(row) => `${row.payment} ${row.dispute} ${row.at}`}
        columns={[
          {
            head: "Payment or dispute",
            // A dispute opens its payment, whose events are its own, too.
            cell: ({ payment, dispute, transaction }) => (
              <PaymentLink id={dispute ?? payment} {...{ transaction, integration }} />
            ),
          },
          { head: "Why", cell: ({ reason }) => <Reason of={reason} /> },
          ...bothSides<Difference>(provider.name, (row, side) => amount(row[side], row)),
        ]}
      />
      {report.left_out === 0 ? null : (
        <p class="soft small">And {count(report.left_out)} smaller ones, counted above.</p>
      )}
      {isManager && isMissing ? (
        <p>
          <ActionButton
            action={action}
            act={() => {
              const body = { from: `${month}-01` };
              return call("POST", `${path}/backfill`, { body });
            }}
          >
            Fetch what is missing
          </ActionButton>
        </p>
      ) : null}
    </div>
  );
}

function Reason({ of }: { readonly of: DifferenceReason }) {
  const view = useView();
  return of === "rejected" ? <a href={view.to("/settings/rejects")}>{reasons[of]}</a> : reasons[of];
}
