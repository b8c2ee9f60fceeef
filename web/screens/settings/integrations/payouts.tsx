/** What a provider sent to the bank: the list, and one payout with all that it is made of. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PayoutKind, PayoutLineView } from "../../../../schemas/http/payouts.js";
import { urlOf } from "../../../api/client.js";
import type {
  ListedIntegration,
  One,
  OpenedPayoutView,
  PayoutsView,
} from "../../../api/manage-answers.js";
import { useUrl } from "../../../api/use-answer.js";
import { day } from "../../../format/dates.js";
import { words } from "../../../format/names.js";
import { count, minorMoney } from "../../../format/numbers.js";
import { Fact } from "../../../parts/fact.js";
import { Failure, SkeletonTable } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useView } from "../../../state/view.js";
import { Limits, type OfIntegration, PaymentLink } from "./of-integration.js";

type Payout = PayoutsView["payouts"][number];

export function Payouts(props: OfIntegration) {
  const { integration, provider } = props;
  const view = useView();
  const payout = view.get("payout");
  const name = integration.name ?? provider.name;
  return (
    <div class="wizard wide">
      <p>
        {payout === null ? (
          <a href={view.to(`/settings/integrations/${integration.id}`)}>{name}</a>
        ) : (
          <a href={view.with({ payout: null })}>All payouts</a>
        )}
      </p>
      <h2 class="step-title">
        {payout === null ? (
          "Payouts to the bank"
        ) : (
          <>
            Payout <code class="soft cut">{payout}</code>
          </>
        )}
      </h2>
      {payout === null ? <List {...props} /> : <Opened {...props} payout={payout} />}
    </div>
  );
}

function List({ provider, path }: OfIntegration) {
  const view = useView();
  const until = view.get("until");
  const { answer, error } = useUrl<One<PayoutsView>>(
    urlOf(`${path}/payouts`, { to: until }),
    false,
  );
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={6} columns={4} />;
  const { payouts, from, left_out: isCut, dated_by: dated, not_shown: notShown } = answer.data;
  return (
    <section>
      <p class="soft">
        Read from {provider.name} just now. Open one to see what it is made of, to the cent.
      </p>
      {payouts.length === 0 ? (
        <p>
          {provider.name} lists no payouts since {day(from)}.
        </p>
      ) : (
        <Table
          caption={`Payouts of ${provider.name}`}
          rows={payouts}
          rowKey={({ id }) => id}
          columns={[
            {
              head: "Payout",
              cell: ({ id }) => (
                <a class="code cut" href={view.with({ payout: id })}>
                  {id}
                </a>
              ),
            },
            {
              head: dated === "arrival" ? "Arrives" : "Created",
              cell: (of) => (
                <span class="tight">
                  {day((dated === "arrival" ? of.arrives_at : null) ?? of.created_at)}
                </span>
              ),
            },
            { head: "Status", cell: ({ status }) => words(status) },
            { head: "Amount", isNumber: true, cell: (of) => amountOf(of) },
          ]}
        />
      )}
      {isCut ? <p class="soft small">And older ones: there are more than can be listed.</p> : null}
      <p>
        <a href={view.with({ until: from })}>Earlier</a>
        {until === null ? null : (
          <>
            {" · "}
            <a href={view.with({ until: null })}>Newest</a>
          </>
        )}
      </p>
      <Limits summary="What is not shown" sentences={notShown} />
    </section>
  );
}

const names: Readonly<Record<PayoutKind, string>> = {
  payment: "Payments",
  refund: "Refunds",
  dispute: "Disputes",
  fee: "Fees",
  adjustment: "Adjustments",
  remainder: "Not explained",
};

function Opened(props: OfIntegration & { readonly payout: string }) {
  const { path, payout } = props;
  const url = `${path}/payouts/${encodeURIComponent(payout)}`;
  const { answer, error } = useUrl<One<OpenedPayoutView>>(url, false);
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={6} columns={4} />;
  const found = answer.data;
  const { arrives_at: arrivesAt, problem } = found;
  return (
    <>
      <section>
        <dl class="facts">
          <Fact name="Amount">{amountOf(found)}</Fact>
          <Fact name="Status">{words(found.status)}</Fact>
          <Fact name="Created">{day(found.created_at)}</Fact>
          {arrivesAt === null ? null : <Fact name="Arrives">{day(arrivesAt)}</Fact>}
        </dl>
        {problem === null ? null : <p role="status">{problem}</p>}
      </section>
      <section>
        <h3>What it is made of</h3>
        <Sums of={found} />
      </section>
      <Lines {...props} of={found} />
    </>
  );
}

function Sums({ of }: { readonly of: OpenedPayoutView }) {
  return (
    <Table
      caption="Sums of the payout"
      rows={of.sums}
      rowKey={({ kind }) => kind}
      columns={[
        {
          head: "Kind",
          cell: ({ kind }) => <Marked is={kind}>{names[kind]}</Marked>,
          foot: "Paid out",
        },
        {
          head: "Lines",
          isNumber: true,
          cell: ({ kind, count: lines }) => (kind === "remainder" ? null : count(lines)),
        },
        {
          head: "Amount",
          isNumber: true,
          cell: ({ kind, amount_minor: minor }) => (
            <Marked is={kind}>{minorMoney(minor, of)}</Marked>
          ),
          foot: amountOf(of),
        },
      ]}
    />
  );
}

/** Drawn at a time: a payout may have thousands. */
const linesAtOnce = 200;

function Lines(props: OfIntegration & { readonly of: OpenedPayoutView }) {
  const { of, integration } = props;
  const [shown, setShown] = useState(linesAtOnce);
  const lines = of.lines.filter(({ kind }) => kind !== "remainder");
  const rest = of.lines.filter(({ kind }) => kind === "remainder");
  if (of.lines.length === 0) return null;
  return (
    <section>
      <h3>Line by line</h3>
      <Table
        caption="Lines of the payout"
        rows={[...lines.slice(0, shown), ...rest]}
        rowKey={({ id }) => id ?? ""}
        columns={[
          {
            head: "What",
            cell: ({ kind, what }) => (
              <Marked is={kind}>{what === null ? names[kind] : words(what)}</Marked>
            ),
          },
          { head: "Payment", cell: (line) => <Payment of={line} by={integration} /> },
          {
            head: "Date",
            cell: ({ at }) => (at === null ? null : <span class="tight">{day(at)}</span>),
          },
          { head: "Amount", isNumber: true, cell: (line) => minorMoney(line.amount_minor, line) },
          {
            head: "Fee",
            isNumber: true,
            cell: (line) =>
              line.fee_minor === 0 ? <span class="soft">–</span> : minorMoney(line.fee_minor, line),
          },
          {
            head: "Paid out",
            isNumber: true,
            cell: (line) => <Marked is={line.kind}>{minorMoney(line.net_minor, line)}</Marked>,
          },
        ]}
      />
      {of.left_out ? (
        <p class="soft small">There are more lines than can be read: they are not explained.</p>
      ) : null}
      {lines.length > shown ? (
        <p>
          <button type="button" class="button" onClick={() => setShown(shown + linesAtOnce)}>
            Show more of the {count(lines.length)} lines
          </button>
        </p>
      ) : null}
    </section>
  );
}

function Payment(props: { readonly of: PayoutLineView; readonly by: ListedIntegration }) {
  const { payment, transaction } = props.of;
  if (payment === null) return <span class="soft">–</span>;
  return (
    <>
      <PaymentLink id={payment} transaction={transaction} integration={props.by} />
      {transaction === null ? <div class="soft small">Not booked here</div> : null}
    </>
  );
}

/** What nobody can explain stands out. */
function Marked(props: { readonly is: PayoutKind; readonly children: ComponentChildren }) {
  return <span class={props.is === "remainder" ? "loss" : undefined}>{props.children}</span>;
}

function amountOf(payout: Payout | OpenedPayoutView): string {
  return minorMoney(payout.amount_minor, payout);
}
