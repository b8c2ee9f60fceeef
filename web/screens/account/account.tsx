/** One account: who it is, its subscriptions and all that happened, in order. */
import { useRoute } from "preact-iso";
import type { AccountAnswer, TimelineItem } from "../../../api/accounts/schema.js";
import { call } from "../../api/client.js";
import { useAnswer } from "../../api/use-answer.js";
import { moment, shortMoment, vintageName } from "../../format/dates.js";
import { countryName, providerName, shortId } from "../../format/names.js";
import { money } from "../../format/numbers.js";
import { Confirm } from "../../parts/confirm.js";
import { ProviderLink, customerName } from "../../parts/customer.js";
import { Fact } from "../../parts/fact.js";
import { More, usePagesOf } from "../../parts/pages.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { Bar } from "../../shell/bar.js";
import { type View, useView } from "../../state/view.js";
import { AccountState } from "../cells.js";
import { kindOf } from "../mrr/kinds.js";
import { useManagePath, useMayManage } from "../settings/manage.js";
import { sentenceOf } from "./sentence.js";

export default function Account() {
  const view = useView();
  const { params } = useRoute();
  const id = params.id ?? "";
  const path = `/v1/accounts/${encodeURIComponent(id)}` as const;
  const { answer, error } = useAnswer(path);
  const timeline = usePagesOf(path, { ...view.tenant, ...view.clocks }, answer, timelineOf);
  const shown = answer?.data;
  return (
    <>
      <Bar title={customerName(shown?.customer) ?? "Account"} />
      <Failure error={error} />
      {shown === undefined ? (
        error === null ? (
          <SkeletonTable rows={12} columns={4} />
        ) : null
      ) : (
        <div class="event">
          <dl class="facts">
            <Who of={shown} />
            <Fact name="Account" isCode>
              {shown.id}
            </Fact>
            <Fact name="State">
              <AccountState active={shown.active} />
            </Fact>
            <Fact name={<Term of="mrr" />}>
              <strong>{money(shown.mrr, shown.currency)}</strong>
            </Fact>
            <Fact name="Began with">
              {money(shown.starting_mrr, shown.currency)}
              {shown.vintage === null ? "" : ` in ${vintageName(shown.vintage)}`}
            </Fact>
            <Fact name="Provider">
              {providerName(shown.provider)}{" "}
              <ProviderLink customer={shown.customer} provider={shown.provider} />
            </Fact>
            <Fact name="Payments">
              <a href={view.to("/transactions", { account: id })}>Its transactions</a>
            </Fact>
          </dl>
          {shown.subscriptions.length === 0 ? null : (
            <section>
              <h2>Subscriptions</h2>
              <Table
                caption="Subscriptions"
                rows={shown.subscriptions}
                rowKey={(row) =>
                  `${row.subscription} ${row.external_id} ${row.currency} ${row.country}`
                }
                columns={[
                  { head: "Product", cell: (row) => row.product_name },
                  { head: "MRR", isNumber: true, cell: ({ mrr }) => money(mrr, shown.currency) },
                  { head: "Paid in", cell: (row) => row.currency },
                  { head: "Country", cell: (row) => countryName(row.country) },
                  { head: "Since", cell: (row) => shortMoment(row.first_at) },
                  { head: "Last change", cell: (row) => shortMoment(row.last_at) },
                  {
                    head: "Subscription",
                    cell: (row) => <span class="code">{shortId(row.subscription)}</span>,
                  },
                ]}
              />
            </section>
          )}
          <section>
            <h2>What happened</h2>
            <ol class="timeline">
              {timeline.rows.map((item) => (
                <li key={`${item.type} ${item.id}`} class={isLoss(item) ? "bad" : ""}>
                  <Item item={item} view={view} />
                </li>
              ))}
            </ol>
            <More of={timeline} label="Show earlier" />
          </section>
        </div>
      )}
    </>
  );
}

function timelineOf({ data }: AccountAnswer): readonly TimelineItem[] {
  return data.timeline;
}

/** What the provider reported of the customer; an admin may erase it. */
function Who({ of: { id, customer } }: { readonly of: AccountAnswer["data"] }) {
  const path = `${useManagePath()}/accounts/${encodeURIComponent(id)}/customer`;
  const mayErase = useMayManage();
  if (customer === null || customer === undefined || customerName(customer) === null) return null;
  return (
    <Fact name="Customer">
      {customer.name ?? <span class="soft">No name reported</span>}
      {customer.email === null ? null : <div>{customer.email}</div>}
      {customer.id === null ? null : <div class="code">{customer.id}</div>}
      {mayErase ? (
        <Confirm
          label="Erase name and e-mail"
          title="Erase name and e-mail?"
          act={() => call("DELETE", path)}
        >
          Name, e-mail and the provider’s own id of this customer are removed here and never kept
          again, whatever the provider reports. Figures stay. This cannot be undone.
        </Confirm>
      ) : null}
    </Fact>
  );
}

function Item({ item, view }: { readonly item: TimelineItem; readonly view: View }) {
  const { type, detail, event_id: event } = item;
  const kind = type === "movement" ? kindOf(detail) : null;
  const transaction = transactionOf(item);
  return (
    <p>
      {kind === null ? null : <span class={`mark tone-${kind}`} />}
      {type === "movement" ? <strong>{sentenceOf(item)}</strong> : sentenceOf(item)}{" "}
      <span class="soft small">
        <time dateTime={item.happened_at}>{moment(item.happened_at)}</time>
        {transaction === null ? null : (
          <a href={view.to("/transactions", { open: transaction })}>transaction</a>
        )}
        {event === null ? null : (
          <a href={view.to(`/events/${event}`)} title={event}>
            webhook
          </a>
        )}
      </span>
    </p>
  );
}

function transactionOf({ type, id, detail }: TimelineItem): string | null {
  if (type === "payment") return id;
  return ["refund", "dispute", "dispute_won"].includes(type) ? detail : null;
}

function isLoss({ type, detail }: TimelineItem): boolean {
  return type === "dispute" || type === "refund" || (type === "movement" && detail === "churn");
}
