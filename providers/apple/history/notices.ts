/**
 * What Apple's API lists, reported as the notifications that Apple would have sent about it, so
 * that both are read by the same rules (decode.ts). Each is dated when it would have been sent.
 */
import { isObject, textOf } from "../../fields.js";
import { historyId } from "../../history-events.js";
import type { HistoryEvent } from "../../backfill.js";
import { readPayload } from "../notification.js";
import { isSubscription, type Transaction, transactionShape } from "../transaction.js";

/** A listed transaction: as Apple wrote it, and as it is read; null where it cannot be. */
export interface Listed {
  readonly payload: Readonly<Record<string, unknown>>;
  readonly transaction: Transaction | null;
}

/** @param texts JWS, which came from Apple itself: their signatures say nothing more */
export function listedIn(texts: readonly string[]): Listed[] {
  return texts.flatMap((text) => {
    const payload = readPayload(text);
    if (!isObject(payload)) return [];
    return [{ payload, transaction: transactionShape.safeParse(payload).data ?? null }];
  });
}

/**
 * As it was bought: what became of it since is reported by itself. An upgraded one was worth its
 * price until then, too.
 */
export function purchaseOf({ payload, transaction }: Listed): HistoryEvent {
  const bought = Object.entries(payload).filter(([name]) => !sinceBought.test(name));
  const isAdded = Boolean(payload["additionalTransactionReason"]);
  return notice(Object.fromEntries(bought), {
    type: transaction === null ? "DID_RENEW" : purchaseTypeOf(transaction),
    ...(isAdded && { subtype: "INCREASE_QUANTITY" }),
    at: transaction?.purchaseDate ?? 0,
    // Once: its fields may change when nothing was bought.
    once: "bought",
  });
}

const sinceBought = /^(isUpgraded|revocation.*|signedDate)$/;

function purchaseTypeOf(transaction: Transaction): string {
  if (!isSubscription(transaction)) return "ONE_TIME_CHARGE";
  const isFirst = transaction.transactionId === transaction.originalTransactionId;
  return isFirst ? "SUBSCRIBED" : "DID_RENEW";
}

/** What of it is refunded by now. @param stops whether the subscription ended with it */
export function refundOf({ payload, transaction }: Listed, stops: boolean): HistoryEvent {
  return notice(payload, {
    type: "REFUND",
    at: transaction?.revocationDate ?? transaction?.purchaseDate ?? 0,
    ...(stops && { status: 5 }),
  });
}

/** @param wasRetried Apple could not charge, and gave up then; null: why it ended is not known */
export function endOf(
  payload: Listed["payload"],
  at: number,
  wasRetried: boolean | null,
): HistoryEvent {
  const why = wasRetried === true ? "BILLING_RETRY" : "VOLUNTARY";
  return notice(
    { ...payload, expiresDate: wasRetried === true ? payload["expiresDate"] : at },
    { type: "EXPIRED", ...(wasRetried !== null && { subtype: why }), at, once: "ended" },
  );
}

interface Said {
  readonly type: string;
  readonly subtype?: string;
  readonly at: number;
  readonly status?: number;
  /** Read once, for good. */
  readonly once?: string;
}

function notice(transaction: Listed["payload"], said: Said): HistoryEvent {
  const { type, subtype, at, status, once } = said;
  const source = textOf(transaction["transactionId"]) ?? "";
  const object = status === undefined ? transaction : { ...transaction, status };
  const reported = { type, at, object, ...(once && { once }) };
  const nativeId = historyId(source, reported, { passing: /^signedDate$/, reading: "" });
  const listed = {
    notificationUUID: nativeId,
    notificationType: type,
    subtype,
    signedDate: at,
    data: {
      bundleId: transaction["bundleId"] ?? "",
      environment: transaction["environment"] ?? "Production",
      status,
      transaction,
    },
  };
  return { nativeId, body: { listed } };
}
