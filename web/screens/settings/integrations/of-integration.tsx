/** What several parts of an integration's page are about, and show alike. */
import type { ComponentChildren } from "preact";
import type { ListedIntegration, ProviderView } from "../../../api/manage-answers.js";
import type { Column } from "../../../parts/table.js";
import { useView } from "../../../state/view.js";
import { Copy } from "../../../parts/copy.js";

export interface OfIntegration {
  readonly integration: ListedIntegration;
  readonly provider: ProviderView;
  /** Where calls about the integration go to. */
  readonly path: string;
}

/** What a person should know before they trust what is beside it. */
export function Limits(props: { readonly summary: string; readonly sentences: readonly string[] }) {
  if (props.sentences.length === 0) return null;
  return (
    <details class="not-to-be-had">
      <summary>{props.summary}</summary>
      <ul class="soft">
        {props.sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </details>
  );
}

/** What a provider lists, and what is booked of it. */
export function bothSides<Row>(
  provider: string,
  cell: (row: Row, side: "listed" | "booked") => ComponentChildren,
): Column<Row>[] {
  return [
    { head: `At ${provider}`, isNumber: true, cell: (row) => cell(row, "listed") },
    { head: "Booked", isNumber: true, cell: (row) => cell(row, "booked") },
  ];
}

/** A payment, or a dispute of it, by its id at the provider. */
export function PaymentLink(props: {
  readonly id: string;
  /** Null: it is not booked. */
  readonly transaction: string | null;
  readonly integration: ListedIntegration;
}) {
  const { id, transaction, integration } = props;
  const view = useView();
  if (transaction === null) return <code class="cut">{id}</code>;
  const environment = integration.environment === "Test" ? "test" : null;
  return (
    <a class="code cut" href={view.to("/transactions", { environment, open: transaction })}>
      {id}
    </a>
  );
}

/** What to subscribe to at the provider, by its own names. */
export function EventsToChoose({ provider }: { readonly provider: ProviderView }) {
  const { subscribe_to: events, name } = provider;
  if (events.length === 0) return null;
  return (
    <details class="events-to-choose">
      <summary>
        {events.length} events to choose at {name}
      </summary>
      <ul>
        {events.map((event) => (
          <li key={event}>
            <code>{event}</code>
          </li>
        ))}
      </ul>
      <Copy text={events.join(", ")} name="events" isShown />
    </details>
  );
}
