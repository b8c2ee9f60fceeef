/** Which events an endpoint wants. Pure. */
import { type EventType, readFilters } from "../../schemas/http/outbound/webhooks.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Endpoint } from "./endpoints.js";

interface Subject {
  readonly provider?: string;
  readonly product?: string;
  readonly currency?: string;
  readonly country?: string;
}

export interface HappenedEvent {
  readonly workspace: string;
  readonly environment: Environment;
  readonly type: EventType;
  readonly subject: Subject;
  readonly at: Date;
}

/** An endpoint gets what is recorded since it was made. */
export function isWanted(endpoint: Endpoint, event: HappenedEvent): boolean {
  return (
    endpoint.workspace === event.workspace &&
    endpoint.environment === event.environment &&
    endpoint.events.includes(event.type) &&
    endpoint.created_at <= event.at &&
    passes(endpoint.filters, event.subject)
  );
}

/** Filters ignore what an event lacks: an alert has no country. */
function passes(written: Endpoint["filters"], subject: Subject): boolean {
  const { provider, product, currency, country } = readFilters.parse(written);
  const several = [
    [subject.provider, provider && { isNot: false, values: provider as readonly string[] }],
    [subject.product, product],
    [subject.currency, currency],
    [subject.country, country],
  ] as const;
  return several.every(
    ([value, filter]) =>
      value === undefined || filter === undefined || filter.values.includes(value) !== filter.isNot,
  );
}
