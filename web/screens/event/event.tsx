/** One raw event: its way through the service, its verdict, and all that was booked under it. */
import type { EventAnswer } from "../../../api/events/schema.js";
import { useEffect } from "preact/hooks";
import { useRoute } from "preact-iso";
import { refreshAnswers, useAnswer } from "../../api/use-answer.js";
import { exactMoment, exactTime, span } from "../../format/dates.js";
import { providerName, words } from "../../format/names.js";
import { exact, money, signedMoney } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { Fact } from "../../parts/fact.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { When } from "../../parts/when.js";
import { Bar } from "../../shell/bar.js";
import { workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { MovementKind, entryColumns } from "../cells.js";
import { hopsOf } from "./hops.js";

type Shown = EventAnswer["data"];

const verdicts = {
  in_progress: ["waiting", "On its way"],
  booked: ["good", "Booked"],
  ignored: ["waiting", "Kept, nothing to book"],
  rejected: ["bad", "Rejected"],
} as const;

/** While it is on its way. */
const askAgainMs = 1_000;

export default function Event() {
  const { params } = useRoute();
  // An event is what it is: the clocks of figures do not change it.
  const { answer, error } = useAnswer(`/v1/events/${encodeURIComponent(params.id ?? "")}`, {
    at: null,
    known_at: null,
  });
  const shown = answer?.data;
  const isUnderWay = shown?.state === "in_progress";
  useEffect(() => {
    if (!isUnderWay) return undefined;
    const timer = setInterval(refreshAnswers, askAgainMs);
    return () => clearInterval(timer);
  }, [isUnderWay]);
  return (
    <>
      <Bar title="Event" />
      <Failure error={error} />
      {shown === undefined ? (
        error === null ? (
          <SkeletonTable rows={12} columns={3} />
        ) : null
      ) : (
        <div class="event">
          <Head of={shown} />
          <Hops of={shown} />
          <Facts of={shown} />
          <Booked of={shown} />
        </div>
      )}
    </>
  );
}

function Head({ of }: { readonly of: Shown }) {
  const [tone, text] = verdicts[of.state];
  return (
    <section>
      <dl class="facts">
        <Fact name="State">
          <span class={`status ${tone}`}>{text}</span>
        </Fact>
        {of.reject === null ? null : (
          <Fact name="Reason">
            {words(of.reject.reason)} <span class="soft">{of.reject.detail}</span>
          </Fact>
        )}
        <Fact name="Provider">{providerName(of.provider)}</Fact>
        <Fact name="Type" isCode>
          {of.native_type}
        </Fact>
        <Fact name="Its own id" isCode>
          {of.native_id}
        </Fact>
        <Fact name={<Term of="rawEvent" label="Id here" />} isCode>
          {of.event_id}
        </Fact>
        <Fact name="Came by">{of.integration === null ? "A call with a key" : words(of.form)}</Fact>
      </dl>
    </section>
  );
}

function Hops({ of }: { readonly of: Shown }) {
  return (
    <section>
      <h2>Its way</h2>
      <ol class="timeline hops">
        {hopsOf(of).map(({ key, title, text, at, sinceMs, isBad }) => (
          <li key={key} class={isBad ? "bad" : ""}>
            <p>
              <strong>{title}</strong>{" "}
              {at === null ? null : (
                <When at={at} format={isSoon(sinceMs) ? exactTime : exactMoment} />
              )}
              {sinceMs === null ? null : <span class="soft"> +{span(sinceMs)}</span>}
            </p>
            <p class="soft">{text}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

const dayMs = 24 * 60 * 60 * 1_000;

/** After the step before: its day need not be told again. */
function isSoon(sinceMs: number | null): boolean {
  return sinceMs !== null && sinceMs < dayMs;
}

function Facts({ of }: { readonly of: Shown }) {
  if (of.facts.length === 0) return null;
  return (
    <section>
      <h2>What was read from it</h2>
      <Table
        caption="Facts"
        rows={of.facts}
        rowKey={({ fact_id: id }) => id}
        columns={[
          { head: "Fact", cell: ({ kind }) => words(kind) },
          { head: "Of", cell: ({ about }) => <span class="code">{about}</span> },
          { head: "Happened", cell: (row) => <When at={row.happened_at} /> },
          {
            head: "Amount",
            isNumber: true,
            cell: ({ amount, currency }) =>
              amount === null || currency === null ? "–" : money(amount, currency),
          },
          {
            head: <Term of="rate" label="Rate" />,
            isNumber: true,
            cell: ({ fx_rate: rate, fx_source: source }) =>
              rate === null ? "–" : `${exact(rate)} ${source === "same" ? "" : (source ?? "")}`,
          },
        ]}
      />
    </section>
  );
}

function Booked({ of }: { readonly of: Shown }) {
  const view = useView();
  const currency = workspaceOf(view.workspace)?.base_currency ?? "USD";
  return (
    <>
      {of.transactions.length === 0 ? null : (
        <section>
          <h2>Transactions</h2>
          <Table
            caption="Versions of transactions"
            rows={of.transactions}
            rowKey={({ id, version }) => `${id} ${version}`}
            columns={[
              {
                head: "Transaction",
                cell: ({ id }) => (
                  <a class="code" href={view.to("/transactions", { open: id })}>
                    {id}
                  </a>
                ),
              },
              { head: "Version", isNumber: true, cell: (row) => row.version },
              { head: "Status", cell: ({ status }) => words(status) },
            ]}
          />
        </section>
      )}
      {of.ledger.length === 0 ? null : (
        <section>
          <h2>Ledger entries</h2>
          <Table
            caption="Ledger entries"
            rows={of.ledger}
            rowKey={(row) => `${row.entry} ${row.external_id} ${row.amount}`}
            columns={[
              { head: "Entry", cell: ({ kind }) => words(kind) },
              { head: "Product", cell: (row) => row.product_name },
              ...entryColumns,
            ]}
          />
        </section>
      )}
      {of.movements.length === 0 ? null : (
        <section>
          <h2>MRR movements</h2>
          <Table
            caption="MRR movements"
            rows={of.movements}
            rowKey={(row) => `${row.account} ${row.at} ${row.kind} ${row.subscription} ${row.mrr}`}
            columns={[
              { head: "Kind", cell: ({ kind }) => <MovementKind kind={kind} /> },
              { head: "Happened", cell: ({ at }) => <When at={at} /> },
              { head: "Product", cell: (row) => row.product_name },
              {
                head: "Account",
                cell: ({ account }) => <AccountLink account={account} customer={null} />,
              },
              { head: "MRR", isNumber: true, cell: ({ mrr }) => signedMoney(mrr, currency) },
            ]}
          />
        </section>
      )}
      {of.truncated ? <p class="soft">There is more than is shown of one event.</p> : null}
    </>
  );
}
