/** One transaction: amounts and rate, versions, ledger entries, and the events behind it. */
import type { TransactionAnswer } from "../../../api/transaction/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { bothMoments, day, moment } from "../../format/dates.js";
import { countryName, providerName, shortId, words } from "../../format/names.js";
import { exact, money } from "../../format/numbers.js";
import { AccountLink, ProviderLink } from "../../parts/customer.js";
import { Drawer } from "../../parts/drawer.js";
import { Fact } from "../../parts/fact.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { When } from "../../parts/when.js";
import { type View, useView } from "../../state/view.js";
import { EventLink, entryColumns } from "../cells.js";
import { Status } from "./status.js";

type Shown = TransactionAnswer["data"];

export function TransactionDrawer({ id }: { readonly id: string }) {
  const view = useView();
  const { answer, error } = useAnswer(`/v1/transactions/${encodeURIComponent(id)}`);
  const shown = answer?.data;
  return (
    <Drawer title={shown?.product_name ?? "Transaction"} closeHref={view.with({ open: null })}>
      <Failure error={error} />
      {shown === undefined ? (
        error === null ? (
          <SkeletonTable rows={12} columns={2} />
        ) : null
      ) : (
        <>
          <Facts of={shown} view={view} />
          <Versions of={shown} view={view} />
          <Ledger of={shown} />
        </>
      )}
    </Drawer>
  );
}

function Facts({ of, view }: { readonly of: Shown; readonly view: View }) {
  const { gross_amount: gross, original_currency: currency } = of;
  const original = (amount: number | null): string =>
    amount === null ? "not reported" : money(amount, currency);
  return (
    <section>
      <dl class="facts">
        <Fact name="Paid">{bothMoments(of.timestamp)}</Fact>
        <Fact name="Amount">
          <strong>{money(gross, currency)}</strong>
        </Fact>
        <Fact name="Converted">{money(of.normalized_amount, of.base_currency)}</Fact>
        <Fact name={<Term of="rate" label="Rate" />}>
          {exact(of.fx_rate)}
          {of.fx_source === "same"
            ? " (same currency)"
            : `, ${of.fx_source.toUpperCase()} of ${day(of.fx_date)}`}
        </Fact>
        <Fact name="Status">
          <Status of={of} />
        </Fact>
        <Fact name={<Term of="tax" />}>{original(of.tax_amount)}</Fact>
        <Fact name={<Term of="fees" label="Fee" />}>{original(of.fee_amount)}</Fact>
        <Fact name="Type">{words(of.type)}</Fact>
        <Fact name="Provider">
          {providerName(of.provider)} <span class="code soft">{of.payment}</span>
        </Fact>
        <Fact name="Country">{countryName(of.customer_country)}</Fact>
        <Fact name="Account">
          <AccountLink account={of.account} customer={of.customer} isWhole />{" "}
          <ProviderLink customer={of.customer} provider={of.provider} />
        </Fact>
        <Fact name="Product">
          <a href={view.to("/products", { open: of.product_id })}>{of.product_name}</a>
        </Fact>
        <Fact name={<Term of="transaction" label="Id" />} isCode>
          {of.id}
        </Fact>
      </dl>
    </section>
  );
}

/** Versions and the calls that made them: down to the signed call. */
function Versions({ of, view }: { readonly of: Shown; readonly view: View }) {
  return (
    <section>
      <h3>Versions</h3>
      <ol class="timeline">
        {of.versions.toReversed().map((version) => (
          <li key={version.version}>
            <p>
              <strong>Version {version.version}</strong> <Status of={version} />
              <span class="soft">
                {" "}
                recorded <When at={version.recorded_at} format={moment} />
              </span>
            </p>
            <ul>
              {version.events.map((event) => (
                <li key={event.event_id}>
                  <a href={view.to(`/events/${event.event_id}`)}>
                    {event.native_type} <span class="code">{shortId(event.event_id)}</span>
                  </a>
                  <span class="soft">
                    {" "}
                    received <When at={event.received_at} format={moment} />
                    {event.verdict === null ? "" : `, ${words(event.verdict).toLowerCase()}`}
                  </span>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Ledger({ of }: { readonly of: Shown }) {
  return (
    <section>
      <h3>Ledger entries</h3>
      <Table
        caption="Ledger entries"
        rows={of.ledger}
        rowKey={(row) => `${row.entry} ${row.event_id} ${row.external_id} ${row.amount}`}
        columns={[
          { head: "Entry", cell: ({ kind }) => words(kind) },
          ...entryColumns,
          { head: "Event", cell: (row) => <EventLink id={row.event_id} /> },
        ]}
      />
    </section>
  );
}
