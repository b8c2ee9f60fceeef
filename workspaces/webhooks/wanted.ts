/** Which events an endpoint wants. Pure. */
import { type EventType, readFilters } from "../../schemas/http/outbound/webhooks.js";
import type { Environment } from "../../schemas/records/records.js";
import type { ActiveEndpoint } from "./endpoints.js";

interface Subject {
  readonly provider?: string;
  readonly product?: string;
  readonly currency?: string;
  readonly country?: string;
  /** Empty: of a guest. */
  readonly account?: string;
}

export interface HappenedEvent {
  readonly workspace: string;
  readonly environment: Environment;
  readonly type: EventType;
  readonly subject: Subject;
  readonly at: Date;
}

/** An endpoint gets what is recorded since it was made. */
export function isWanted(endpoint: ActiveEndpoint, event: HappenedEvent): boolean {
  return (
    endpoint.workspace === event.workspace &&
    endpoint.environment === event.environment &&
    endpoint.events.includes(event.type) &&
    endpoint.created_at <= event.at &&
    passingOf(endpoint.filters, null)(event.subject) &&
    passingOf(endpoint.segment_filters ?? {}, endpoint.segment_accounts)(event.subject)
  );
}

/**
 * Filters ignore what an event lacks: an alert has no country.
 *
 * @param written other filters than those are not known of single events
 * @param accounts null: all
 */
export function passingOf(
  written: Readonly<Record<string, string | undefined>>,
  accounts: readonly string[] | null,
): (subject: Subject) => boolean {
  const { provider, product, currency, country } = readFilters.parse(written);
  const listed = accounts && new Set(accounts);
  const several = [
    ["provider", provider && { isNot: false, values: provider as readonly string[] }],
    ["product", product],
    ["currency", currency],
    ["country", country],
  ] as const;
  return ({ account, ...subject }) =>
    (account === undefined || listed === null || listed.has(account)) &&
    several.every(([name, filter]) => {
      const value = subject[name];
      return (
        value === undefined ||
        filter === undefined ||
        filter.values.includes(value) !== filter.isNot
      );
    });
}
