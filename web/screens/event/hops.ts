/** The steps of an event, each with what it took since the one before. */
import type { EventAnswer } from "../../../api/events/schema.js";
import { words } from "../../format/names.js";

export interface Hop {
  readonly key: string;
  readonly title: string;
  readonly text: string;
  readonly at: string | null;
  readonly sinceMs: number | null;
  readonly isBad: boolean;
}

type Shown = EventAnswer["data"];

export function hopsOf(event: Shown): readonly Hop[] {
  const hops = [...event.deliveries.flatMap(deliveryHops), ...bookedHops(event)];
  return hops.map((hop, index) => {
    const before = hops[index - 1]?.at ?? null;
    const sinceMs =
      hop.at === null || before === null ? null : Date.parse(hop.at) - Date.parse(before);
    return { ...hop, sinceMs: sinceMs !== null && sinceMs >= 0 ? sinceMs : null };
  });
}

type Step = Omit<Hop, "sinceMs">;

function deliveryHops(delivery: Shown["deliveries"][number], index: number): readonly Step[] {
  const again = index === 0 ? "" : " again";
  const { received_at: at, outcome, facts, reason } = delivery;
  const received: Step = {
    key: `received ${at} ${delivery.offset}`,
    title: `Received${again}`,
    text:
      `${words(delivery.verdict)}; written to ${delivery.topic}, partition ` +
      `${delivery.partition}, offset ${delivery.offset}; seal ${delivery.seal}.`,
    at,
    isBad: delivery.seal === "broken",
  };
  if (delivery.normalized_at === null) return [received];
  const texts = {
    facts:
      `${facts ?? 0} ${facts === 1 ? "fact" : "facts"}, ` +
      `rates of edition ${delivery.rates_edition}.`,
    ignored: `Nothing to book: ${words(reason ?? "irrelevant").toLowerCase()}.`,
    rejected: `Rejected: ${words(reason ?? "unknown").toLowerCase()}.`,
  };
  return [
    received,
    {
      key: `read ${at} ${delivery.offset}`,
      title: "Read",
      text: outcome === null ? "" : texts[outcome],
      at: delivery.normalized_at,
      isBad: outcome === "rejected",
    },
  ];
}

function bookedHops(event: Shown): readonly Step[] {
  const booked = (
    key: string,
    title: string,
    rows: readonly { readonly booked_at: string | null }[],
  ): readonly Step[] => {
    if (rows.length === 0) return [];
    const times = rows.flatMap(({ booked_at: at }) => (at === null ? [] : [at])).sort();
    const text = `${rows.length} ${rows.length === 1 ? "row" : "rows"}.`;
    return [{ key, title, text, at: times.at(-1) ?? null, isBad: false }];
  };
  const hops = [
    ...booked("ledger", "Booked in the ledger", event.ledger),
    ...booked("transactions", "Shown as transactions", event.transactions),
    ...booked("changes", "Subscription changes", event.subscription_changes),
    ...booked("movements", "MRR movements", event.movements),
  ];
  return hops.sort((one, other) => (one.at ?? "").localeCompare(other.at ?? ""));
}
