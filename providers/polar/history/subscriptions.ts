/**
 * What a subscription's present state reveals about its past: that it began, when its trial became
 * paid, what it is worth now, when it ended. Earlier prices are kept nowhere; it is reported as if
 * the last had always been its price.
 */
type Fields = Readonly<Record<string, unknown>>;

/** What an object reports, before its event gets an id. */
export interface Reported {
  readonly type: string;
  /** As Polar writes a time. */
  readonly at: unknown;
  readonly data: Fields;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
}

export function subscriptionHistory(now: Fields): Reported[] {
  const { status, created_at: createdAt, started_at: startedAt, trial_start: trialStart } = now;
  // Never paid, or not yet.
  if (status === "incomplete" || status === "incomplete_expired") return [];
  const begun = startedAt ?? createdAt;
  const active = { ...now, status: "active", ended_at: null, paused_at: null };
  const trialing = { ...active, status: "trialing" };
  const hadTrial = typeof trialStart === "string";
  // It may have got one later, on top of what was paid.
  const beganOnTrial = hadTrial && timeOf(trialStart) - timeOf(begun) < dayMs;
  const reported: Reported[] = [
    {
      type: "subscription.created",
      at: begun,
      data: beganOnTrial ? trialing : active,
      once: "begun",
    },
  ];
  if (hadTrial && !beganOnTrial) {
    const at = trialStart;
    reported.push({ type: "subscription.updated", at, data: trialing, once: `trial:${at}` });
  }
  const paidFrom = hadTrial ? paidAfterTrial(now) : null;
  if (paidFrom !== null) {
    const at = paidFrom;
    reported.push({ type: "subscription.updated", at, data: active, once: `paid:${at}` });
  }
  const isOver = status === "canceled";
  const type = isOver ? "subscription.revoked" : "subscription.updated";
  const { ended_at: endedAt, modified_at: modifiedAt } = now;
  const at = (isOver ? endedAt : null) ?? modifiedAt ?? createdAt;
  return [...reported, { type, at, data: now }];
}

const dayMs = 24 * 60 * 60 * 1000;

/** The trial's end, where it did not end with the subscription and is not still to come. */
function paidAfterTrial({ status, trial_end: end, ended_at: endedAt }: Fields): string | null {
  if (typeof end !== "string" || status === "trialing") return null;
  return typeof endedAt === "string" && timeOf(endedAt) <= timeOf(end) ? null : end;
}

function timeOf(text: unknown): number {
  return Date.parse(String(text));
}
