/**
 * The App Store's history. What Apple attempted to notify of is listed for half a year, as it was
 * sent. What was before is listed only of customers one can name: by any of their transactions.
 * Sources: developer.apple.com/documentation/appstoreserverapi, Get Notification History, Get
 * Transaction History, Get Refund History, Get All Subscription Statuses; docs/providers/apple.md.
 */
import { z } from "zod";
import {
  type Backfill,
  type HistoryEvent,
  type HistoryList,
  type HistoryPage,
  type ListedPayment,
  nothingListed,
  placeOf,
  type Span,
} from "../../backfill.js";
import { listedPayments } from "../../history-events.js";
import { timeMs } from "../../fields.js";
import type { AppleCredentials } from "../credentials.js";
import { decode } from "../decode.js";
import { readNotification, readPayload } from "../notification.js";
import { priceOf, revokedPart } from "../price.js";
import type { Transaction } from "../transaction.js";
import { carriedIn, carryOf, lapsesIn, periodsIn } from "./periods.js";
import { endOf, type Listed, listedIn, purchaseOf, refundOf } from "./notices.js";

const dayMs = 24 * 60 * 60 * 1000;
/** Apple keeps 180 days. One less: the start is fixed when a backfill begins, and it takes time. */
const notificationsMs = 179 * dayMs;
/** For so long Apple tries to charge. */
const retriedMs = 60 * dayMs;

const notificationsPage = z.object({
  notificationHistory: z.array(z.object({ signedPayload: z.string() })).default([]),
  hasMore: z.boolean().default(false),
  paginationToken: z.string().nullish(),
});

const notifications: HistoryList<AppleCredentials> = {
  name: "notifications",
  reportsPayments: false,
  path: (_span, after) =>
    `/inApps/v1/notifications/history${after === null ? "" : query({ paginationToken: after })}`,
  body: ({ from, to }) => ({ startDate: Math.max(from, to - notificationsMs), endDate: to }),
  read(answer) {
    const parsed = notificationsPage.safeParse(answer);
    if (!parsed.success) return null;
    const { notificationHistory: sent, hasMore, paginationToken: next } = parsed.data;
    const bodies = sent.map(({ signedPayload }) => ({ signedPayload }));
    return {
      objects: sent.length,
      events: bodies.flatMap(sentEvent),
      payments: [],
      next: hasMore && next ? next : null,
    };
  },
};

/** As a webhook call brings it. */
function sentEvent(body: { readonly signedPayload: string }): HistoryEvent[] {
  const read = readNotification(body);
  if (!read.success) return [];
  return [{ nativeId: read.data.notificationUUID, isProviders: true, body }];
}

const transactionsPage = z.object({
  signedTransactions: z.array(z.string()).default([]),
  hasMore: z.boolean().default(false),
  revision: z.string().nullish(),
});

const transactions: HistoryList<AppleCredentials> = {
  name: "transactions",
  reportsPayments: true,
  ofEach: ["subscription", "one_time_payment"],
  path: (_span, after) => customersPath("/inApps/v2/history", after),
  read: (answer, _asOf, span, after = null) =>
    readCustomers(answer, after, (listed, known, isLast) => {
      const within = listed.filter((one) => isWithin(one, span));
      const periods = [...carriedIn(known), ...periodsIn(listed)];
      const { id } = placeOf(after);
      return {
        events: [...within.map(purchaseOf), ...(isLast ? lapsesIn(periods, span) : [])],
        payments: within.flatMap((one) => paymentsOf(one, id)),
        carry: carryOf(periods),
      };
    }),
};

const refunds: HistoryList<AppleCredentials> = {
  name: "refunds",
  reportsPayments: false,
  ofEach: ["subscription", "one_time_payment"],
  path: (_span, after) => customersPath("/inApps/v2/refund/lookup", after),
  read: (answer, _asOf, span, after = null) =>
    readCustomers(answer, after, (listed) => ({
      events: listed.filter((one) => isWithin(one, span)).map((one) => refundOf(one, false)),
      payments: [],
      carry: "",
    })),
};

interface Read extends Pick<HistoryPage, "events" | "payments"> {
  /** What the next pages of the same customer have to know. */
  readonly carry: string;
}

/** A place is an id, the revision to go on from, and what is carried along. */
function readCustomers(
  answer: unknown,
  after: string | null,
  read: (listed: readonly Listed[], carried: string, isLast: boolean) => Read,
): HistoryPage | null {
  if (answer === null) return nothingListed;
  const parsed = transactionsPage.safeParse(answer);
  if (!parsed.success) return null;
  const { signedTransactions: texts, hasMore, revision } = parsed.data;
  const { id, next } = placeOf(after);
  const isLast = !hasMore || !revision;
  const { events, payments, carry } = read(listedIn(texts), revisionIn(next).carried, isLast);
  return {
    objects: texts.length,
    events,
    payments,
    next: isLast ? null : `${id} ${encodeURIComponent(revision)} ${carry}`,
  };
}

function revisionIn(next: string | null): { revision: string; carried: string } {
  const [, revision = "", carried = ""] = /^(\S*) ?(.*)$/s.exec(next ?? "") ?? [];
  return { revision: decodeURIComponent(revision), carried };
}

function customersPath(path: string, after: string | null): string {
  const { id, next } = placeOf(after);
  const { revision } = revisionIn(next);
  const asked = { ...(revision !== "" && { revision }), inAppOwnershipType: "PURCHASED" };
  return `${path}/${encodeURIComponent(id)}${query(asked)}`;
}

function query(parameters: Readonly<Record<string, string>>): string {
  return `?${new URLSearchParams(parameters).toString()}`;
}

/** What was bought before is not booked, nor what became of it. */
function isWithin({ transaction }: Listed, { from, to }: Span): boolean {
  const at = transaction?.purchaseDate ?? from;
  return at >= from && at <= to;
}

/** Each once, whichever transaction its customer was named by. */
function paymentsOf(listed: Listed, id: string): ListedPayment[] {
  const { transaction } = listed;
  if (transaction?.originalTransactionId !== id) return [];
  return listedPayments(decode(purchaseOf(listed).body), refundedOf(transaction));
}

/** What an upgrade took back is no refund. */
function refundedOf(transaction: Transaction): bigint {
  const price = priceOf(transaction);
  const isTaken = typeof transaction.revocationDate === "number" && !transaction.isUpgraded;
  return price !== null && isTaken ? revokedPart(price, transaction).amount : 0n;
}

const statusPage = z.object({
  data: z
    .array(
      z.object({
        lastTransactions: z
          .array(
            z.object({
              status: z.int(),
              signedTransactionInfo: z.string(),
              signedRenewalInfo: z.string().optional(),
            }),
          )
          .default([]),
      }),
    )
    .default([]),
});

/** `status` of the answer. */
const status = { expired: 2, revoked: 5 } as const;
/** `expirationIntent`: Apple could not charge. */
const billingError = 2;

const renewalShape = z.object({ expirationIntent: z.int().nullish() });

const subscriptions: HistoryList<AppleCredentials> = {
  name: "subscriptions",
  reportsPayments: false,
  ofEach: ["subscription"],
  path: (_span, after) => `/inApps/v1/subscriptions/${encodeURIComponent(placeOf(after).id)}`,
  read(answer, asOf, span) {
    if (answer === null) return nothingListed;
    const parsed = statusPage.safeParse(answer);
    if (!parsed.success) return null;
    const last = parsed.data.data.flatMap(({ lastTransactions }) => lastTransactions);
    const events = last.flatMap(({ status: now, signedTransactionInfo: text, ...more }) => {
      const [listed] = listedIn([text]).filter((one) => isWithin(one, span));
      if (listed === undefined) return [];
      if (now === status.revoked) return [refundOf(listed, true)];
      if (now !== status.expired) return [];
      const renewal = renewalShape.safeParse(readPayload(more.signedRenewalInfo ?? ""));
      const intent = renewal.data?.expirationIntent ?? null;
      return endsOf(listed, intent === null ? null : intent === billingError, asOf);
    });
    return { objects: last.length, events, payments: [], next: null };
  },
};

/** One that Apple retried counts until Apple gave up, which is not told: at the latest then. */
function endsOf({ payload }: Listed, wasRetried: boolean | null, asOf: number): HistoryEvent[] {
  const expiresAt = timeMs.safeParse(payload["expiresDate"]).data;
  if (expiresAt === undefined) return [];
  const at = wasRetried ? Math.min(expiresAt + retriedMs, asOf) : expiresAt;
  return [endOf(payload, at, wasRetried)];
}

export const appleBackfill: Backfill<AppleCredentials> = {
  lists: [notifications, transactions, refunds, subscriptions],
  byIds: {
    ids: "transaction ids from your own records, one of each customer",
    listedMs: notificationsMs,
  },
  missing: [
    "Apple lists no customers: beyond 180 days only those are read that are booked already or " +
      "whose transaction ids you upload.",
    "Notifications are listed for 180 days, and only those Apple attempted to send to a URL.",
    "Transactions from before October 2023 have no price and are rejected.",
    "Purchases from before the first day are not read, nor what became of them: a yearly " +
      "subscription counts from its next renewal.",
    "When Apple gave up charging a customer is listed nowhere: without a notification such a " +
      "subscription ends 60 days after its last paid period.",
    "A refund that Apple reversed shows only in its notification.",
    "Sandbox purchases are not read.",
  ],
};
