/** Why an event could not be booked, and what to do, in words (`docs/operating.md`, Rejects). */
export interface ReasonWords {
  readonly title: string;
  /** What follows "3 events of Stripe", whatever their number. */
  readonly clause: string;
  readonly next: string;
}

const reasons: Readonly<Record<string, ReasonWords>> = {
  fx_rate_missing: {
    title: "No exchange rate is known for its day",
    clause: "waiting for an exchange rate",
    next: "Nothing to do: it is replayed when the rate appears.",
  },
  currency_unknown: {
    title: "Its currency is not one of ISO 4217",
    clause: "in an unknown currency",
    next: "Open the event to see what was sent; send it again, corrected, as a new event.",
  },
  enrichment_unavailable: {
    title: "Something it names is not known yet",
    clause: "waiting for details such as a product or a price",
    next: "Nothing to do: it is replayed when an event or the provider's API names it.",
  },
  enrichment_refused: {
    title: "The provider's API refuses the credentials",
    clause: "waiting for credentials that the provider's API accepts",
    next: "Rotate the integration's credentials; what waits is replayed then.",
  },
  payment_too_large: {
    title: "Its payment has too many parts",
    clause: "of a payment with too many parts",
    next: "Look at what is sent; the other facts of the event are booked.",
  },
  account_too_large: {
    title: "Its account has too many subscription changes",
    clause: "of an account with too many changes",
    next: "Often one customer id stands for many customers: look at what is sent.",
  },
  amount_too_large: {
    title: "An amount in it is beyond what can be booked",
    clause: "with an amount beyond what can be booked",
    next: "Open the event to see what the provider sent.",
  },
  contradictory: {
    title: "Its amounts contradict each other",
    clause: "with amounts that contradict each other",
    next: "Look at what the provider sent; a later event of the same object may be right.",
  },
  adapter_failed: {
    title: "Reading it failed: a mistake of this service",
    clause: "that could not be read",
    next: "Report it with the event's id; replay it with the version that mends it.",
  },
  internal_error: {
    title: "Booking it failed: a mistake of this service",
    clause: "that could not be booked",
    next: "Report it with the event's id; replay it with the version that mends it.",
  },
  thin_event: {
    title: "It carries no data",
    clause: "without data",
    next: "Choose the payload style snapshot for the endpoint at Stripe.",
  },
  date_out_of_range: {
    title: "It is dated before 2000 or in the future",
    clause: "with an impossible date",
    next: "The clock of the sender is wrong.",
  },
  dated_too_early: {
    title: "It is dated before the first day that can be booked",
    clause: "with a date that is too early",
    next: "Open the event to see what was sent; send it again, corrected, as a new event.",
  },
  no_open_subscription: {
    title: "It ends a subscription that never started",
    clause: "ending a subscription that never started",
    next: "It waits for the start. Check that it carries the provider's own ids.",
  },
  seal_broken: {
    title: "Its stored copy cannot be opened",
    clause: "whose stored copy cannot be opened",
    next: "The vault key differs: set VAULT_ENCRYPTION_KEY_PREVIOUS, then replay.",
  },
  malformed: {
    title: "A field is missing or has a wrong form",
    clause: "with a missing or wrong field",
    next: "The detail names it. Replay after the upgrade that understands it.",
  },
};

export function reasonWords(reason: string): ReasonWords {
  const text = reason.replaceAll("_", " ");
  return (
    reasons[reason] ?? {
      title: text.charAt(0).toUpperCase() + text.slice(1),
      clause: `not booked (${text})`,
      next: "Replay it after the upgrade that understands it.",
    }
  );
}
