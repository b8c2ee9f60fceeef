/**
 * What a subscription's present state reveals about its past: that it began, when its trial became
 * paid, what it is worth now, when it ended. Earlier prices are shown nowhere; it is reported as if
 * the last had always been its price.
 */
type Fields = Readonly<Record<string, unknown>>;

/** What an object reports, before its event gets an id. */
export interface Reported {
  readonly type: string;
  /** Of the object in the event's content. */
  readonly name: string;
  readonly object: Fields;
  /** ms since 1970 */
  readonly version: unknown;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
}

export function subscriptionHistory(now: Fields): Reported[] {
  const name = "subscription";
  const { status, started_at: startedAt, trial_start: trialStart, trial_end: trialEnd } = now;
  const { resource_version: version, activated_at: activatedAt, cancelled_at: cancelledAt } = now;
  // It has not begun.
  if (typeof startedAt !== "number") return [];
  const began = { ...now, cancelled_at: null, pause_date: null, due_since: null, deleted: false };
  const dated = (state: string, seconds: number): Fields => ({
    ...began,
    status: state,
    resource_version: seconds * 1e3,
  });
  const hadTrial = typeof trialStart === "number";
  const reported: Reported[] = [
    {
      type: "subscription_created",
      name,
      version: startedAt * 1e3,
      once: "begun",
      object: dated(hadTrial ? "in_trial" : "active", startedAt),
    },
  ];
  const paidFrom = hadTrial ? (numberOf(activatedAt) ?? numberOf(trialEnd)) : null;
  const ended = numberOf(cancelledAt) ?? Infinity;
  if (paidFrom !== null && status !== "in_trial" && paidFrom < ended) {
    reported.push({
      type: "subscription_activated",
      name,
      version: paidFrom * 1e3,
      object: {
        ...dated("active", paidFrom),
        activated_at: paidFrom,
      },
      once: `paid:${paidFrom}`,
    });
  }
  const type = status === "cancelled" ? "subscription_cancelled" : "subscription_changed";
  return [...reported, { type, name, object: now, version }];
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
