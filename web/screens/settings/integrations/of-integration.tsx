/** What several parts of an integration's page are about, and show alike. */
import type { ComponentChildren } from "preact";
import type { ListedIntegration, ProviderView } from "../../../api/manage-answers.js";
import type { Column } from "../../../parts/table.js";
import { useView } from "../../../state/view.js";

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
