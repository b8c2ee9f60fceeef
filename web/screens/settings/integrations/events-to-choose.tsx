/** The events to subscribe to at the provider, by its own names. */
import type { ProviderView } from "../../../api/manage-answers.js";
import { Copy } from "../../../parts/copy.js";

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
