/** Which event types figures need, whether they come, and what to do where they do not. */
import type { ListedIntegration } from "../../../api/manage-answers.js";
import { Table } from "../../../parts/table.js";
import { When } from "../../../parts/when.js";
import type { OfIntegration } from "./of-integration.js";

type Needed = ListedIntegration["health"]["needed_events"][number];

const names: Readonly<Record<Needed["for"], string>> = {
  payments: "Payments",
  renewals: "Renewals",
  purchases: "What was bought",
  purchase_links: "Which payment paid what",
  one_time: "One-time purchases",
  subscriptions: "Subscriptions",
  ends: "Ends of subscriptions",
  refunds: "Refunds",
  disputes: "Disputes",
};

export function NeededEvents({ of: { health } }: { readonly of: ListedIntegration }) {
  const { needed_events: rows } = health;
  if (rows.length === 0) return null;
  return (
    <section>
      <h3>Event types</h3>
      <p class="soft small">
        What figures rest on. Some come only when something happens: a young account may have no
        refund yet.
      </p>
      <Table
        caption="Event types that figures need"
        rows={rows}
        rowKey={(row) => row.for}
        columns={[
          { head: "For", cell: (row) => names[row.for] },
          { head: "Last", cell: (row) => <State of={row} /> },
          { head: "Any of", cell: ({ types }) => <Types of={types} /> },
        ]}
      />
    </section>
  );
}

function State({ of: { state, last_at: at } }: { readonly of: Needed }) {
  if (state === "missing") return <span class="status bad">Missing</span>;
  return at === null ? <span class="soft tight">Not seen yet</span> : <When at={at} />;
}

function Types({ of: types }: { readonly of: readonly string[] }) {
  return (
    <>
      {types.map((type, index) => (
        <span key={type}>
          {index === 0 ? null : ", "}
          <code>{type}</code>
        </span>
      ))}
    </>
  );
}

/** What shows that they are missing, and how to get them. */
export function MissingEvents({
  integration,
  provider,
}: Pick<OfIntegration, "integration" | "provider">) {
  const missing = integration.health.needed_events.filter(({ state }) => state === "missing");
  return (
    <>
      {missing.map((needed) => (
        <p key={needed.for}>
          {proofs[needed.for] ?? "Other events show that some should have come."} Choose{" "}
          <Types of={needed.types} /> at {provider.name}.
          {needed.for === "payments" && provider.fetches_payments
            ? " Or enter an API key: then payments that do not come are fetched."
            : null}
        </p>
      ))}
    </>
  );
}

const proofs: Partial<Record<Needed["for"], string>> = {
  payments: "Subscriptions or invoices arrive, but their payments do not: revenue is missing.",
  subscriptions: "Subscriptions are paid, but none arrives: MRR is missing.",
};
