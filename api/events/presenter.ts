/** The JSON of one raw event's way through the service. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import type { RejectListRow } from "../../workspaces/rejects/rejects.js";
import {
  type EventAnswer,
  eventAnswer,
  eventChange,
  eventDelivery,
  eventVersion,
} from "./schema.js";
import { type Fact, topics } from "../../schemas/records/records.js";
import type { FoundEvent } from "./search.js";
import type { ChangeRow, EventMovementRow } from "./subscriptions-query.js";
import type { EntryRow } from "../transaction/entries-query.js";
import type { VersionRow } from "../transaction/versions-query.js";
import { presentMovementPlace } from "../mrr-changes/presenter.js";
import { showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { presentEntry, presentFact, timeText } from "./evidence.js";

type View = EventAnswer["data"];

/** What is known of an event; each list may have one row more than is shown. */
export interface ExplainedEvent extends FoundEvent {
  readonly reject: Pick<RejectListRow, "step" | "reason" | "detail" | "state"> | null;
  readonly facts: readonly Fact[];
  readonly entries: readonly EntryRow[];
  readonly versions: readonly VersionRow[];
  readonly changes: readonly ChangeRow[];
  readonly movements: readonly EventMovementRow[];
  /** In the order of journal, then waiting. */
  readonly seals: readonly View["deliveries"][number]["seal"][];
}

export interface Shown {
  readonly catalogue: Catalogue;
  readonly baseCurrency: string;
  /** ms since 1970 */
  readonly completeTo: number;
  readonly deliveriesMax: number;
  readonly rowsMax: number;
}

export function presentEvent(event: ExplainedEvent, shown: Shown): View {
  const { catalogue, baseCurrency, rowsMax } = shown;
  const deliveries = deliveriesOf(event);
  const lists = [event.facts, event.entries, event.versions, event.changes, event.movements];
  return {
    ...headOf(event),
    state: stateOf(event, deliveries, shown.completeTo),
    deliveries: deliveries.slice(0, shown.deliveriesMax),
    reject: event.reject,
    facts: event.facts.slice(0, rowsMax).map(presentFact),
    ledger: event.entries
      .slice(0, rowsMax)
      .map((row) => presentEntry(row, catalogue, baseCurrency)),
    transactions: event.versions.slice(0, rowsMax).map((row) => ({
      id: row.id,
      version: row.version,
      status: eventVersion.shape.status.parse(row.status),
      recorded_at: timeText(row.recorded_at_ms),
      booked_at: timeText(row.booked_at_ms),
    })),
    subscription_changes: event.changes
      .filter(({ subscription }) => subscription !== "")
      .slice(0, rowsMax)
      .map((row) => presentChange(row, baseCurrency)),
    movements: event.movements
      .slice(0, rowsMax)
      .map((row) => presentMovement(row, catalogue, baseCurrency)),
    truncated:
      deliveries.length > shown.deliveriesMax || lists.some((rows) => rows.length > rowsMax),
  };
}

function headOf({ journal, waiting }: FoundEvent) {
  const [row] = journal;
  const meta = waiting[0]?.meta;
  const integration = row?.integration ?? meta?.integration ?? "";
  return {
    event_id: row?.event_id ?? meta?.event_id ?? "",
    provider: eventAnswer.shape.data.shape.provider.parse(row?.provider ?? meta?.provider),
    integration: integration === "" ? null : integration,
    form: row?.form ?? meta?.form ?? "",
    native_id: row?.native_id ?? meta?.native_id ?? "",
    native_type: row?.native_type ?? meta?.native_type ?? "",
  };
}

function deliveriesOf({ journal, waiting, seals }: ExplainedEvent): View["deliveries"] {
  const { shape } = eventDelivery;
  const written = journal.map((row, index) => ({
    received_at: timeText(row.received_at_ms),
    verdict: row.verdict,
    topic: topics.raw,
    partition: row.partition,
    offset: Number(row.offset),
    seal: seals[index] ?? "removed",
    rates_edition: row.rates_edition,
    normalized_at: timeText(row.normalized_at_ms),
    outcome: shape.outcome.parse(row.outcome),
    reason: row.reason === "" ? null : row.reason,
    facts: row.facts,
  }));
  const unwritten = waiting.map(({ meta, partition, offset }, index) => ({
    received_at: new Date(meta.received_at).toISOString(),
    verdict: meta.verdict,
    topic: topics.raw,
    partition,
    offset: Number(offset),
    seal: seals[journal.length + index] ?? "removed",
    rates_edition: meta.rates_edition,
    normalized_at: null,
    outcome: null,
    reason: null,
    facts: null,
  }));
  return [...written, ...unwritten];
}

function stateOf(
  { reject }: ExplainedEvent,
  deliveries: View["deliveries"],
  completeTo: number,
): View["state"] {
  const last = deliveries.at(-1);
  if (last === undefined || last.outcome === null || Date.parse(last.received_at) > completeTo) {
    return "in_progress";
  }
  // A churn that waits for its partner was read without fault, and is listed nevertheless.
  if (last.outcome === "rejected" || reject?.state === "open") return "rejected";
  return last.outcome === "ignored" ? "ignored" : "booked";
}

function presentChange(row: ChangeRow, currency: string): View["subscription_changes"][number] {
  return {
    change_id: row.change_id,
    revision: row.revision,
    void: row.void === 1,
    account: row.account,
    subscription: row.subscription,
    phase: eventChange.shape.phase.parse(row.phase),
    currency: row.currency === "" ? null : row.currency,
    at: timeText(row.at_ms),
    mrr: showMrr(mrrOf(row.mrr), currency),
    recorded_at: timeText(row.recorded_at_ms),
    booked_at: timeText(row.booked_at_ms),
  };
}

function presentMovement(
  row: EventMovementRow,
  catalogue: Catalogue,
  currency: string,
): View["movements"][number] {
  const { provider: _sameAsTheEvent, ...place } = presentMovementPlace(row, catalogue);
  return {
    account: row.account,
    ...place,
    at: timeText(row.at_ms),
    mrr: showMrr(mrrOf(row.mrr), currency),
    recorded_at: timeText(row.recorded_at_ms),
    booked_at: timeText(row.booked_at_ms),
  };
}
