/**
 * App Store Server Notifications, version 2, as they are sent: `{"signedPayload": "<JWS>"}` with
 * further JWS inside. Here payloads are read without a look at who signed them: the endpoint
 * verified them (signature.ts) and the seal keeps it so.
 */
import { z } from "zod";
import { compiled, timeMs } from "../fields.js";
import { historyPrefix } from "../history-events.js";
import { payloadOf, readJws } from "./jws.js";

/** Which app and which of Apple's environments a part of a notification is of. */
const appShape = z.object({
  bundleId: z.string(),
  /** Absent in the sandbox. */
  appAppleId: z.int().optional(),
  environment: z.string(),
});

const notificationShape = compiled(
  z.object({
    notificationType: z.string().min(1),
    subtype: z.string().nullish(),
    notificationUUID: z.string().min(1),
    signedDate: timeMs,
    data: appShape
      .extend({
        status: z.int().nullish(),
        signedTransactionInfo: z.string().optional(),
        /** In place of it, where a backfill read it. */
        transaction: z.unknown().optional(),
        signedRenewalInfo: z.string().optional(),
      })
      .optional(),
    summary: appShape.optional(),
    appData: appShape.extend({ signedAppTransactionInfo: z.string().optional() }).optional(),
    externalPurchaseToken: appShape
      .omit({ environment: true })
      .extend({ externalPurchaseId: z.string().optional() })
      .optional(),
  }),
);
export type Notification = z.output<typeof notificationShape>;

const bodyShape = compiled(z.object({ signedPayload: z.string() }));
/**
 * What a backfill made of a transaction, without a signature. It is read only when there is no
 * `signedPayload`; a webhook call without one is refused before it gets here.
 */
const listedShape = compiled(
  z.object({ listed: z.looseObject({ notificationUUID: z.string().startsWith(historyPrefix) }) }),
);

type Reading = z.ZodSafeParseResult<Notification>;

/** @param body the parsed webhook body */
export function readNotification(body: unknown): Reading {
  const text = bodyShape.safeParse(body).data?.signedPayload;
  if (text !== undefined) return readText(text, readPayload);
  return notificationShape.safeParse(listedShape.safeParse(body).data?.listed);
}

/** @param text a `signedPayload`; @param read what the JWS holds */
export function readText(text: string, read: (text: string) => unknown): Reading {
  if (latest?.text !== text) {
    latest = { text, reading: notificationShape.safeParse(read(text)) };
  }
  return latest.reading;
}

/** The endpoint verifies a payload, which reads it, and right after that asks for its heading. */
let latest: { readonly text: string; readonly reading: Reading } | null = null;

/** The payload of a JWS, whoever signed it; undefined when it is none. */
export function readPayload(text: string): unknown {
  const jws = readJws(text);
  return jws === null ? undefined : payloadOf(jws);
}

/** The transaction inside, as its payload; undefined where there is none. */
export function transactionIn({ data }: Notification): unknown {
  if (data?.transaction !== undefined) return data.transaction;
  return data?.signedTransactionInfo === undefined
    ? undefined
    : (readPayload(data.signedTransactionInfo) ?? null);
}

/** The app a notification is about: one of four parts reports it. */
export function appOf(notification: Notification): z.output<typeof appShape> | null {
  const { data, summary, appData, externalPurchaseToken: token } = notification;
  const reported = data ?? summary ?? appData;
  if (reported !== undefined) return reported;
  if (token === undefined) return null;
  const isSandbox = token.externalPurchaseId?.startsWith("SANDBOX") === true;
  return { ...token, environment: isSandbox ? "Sandbox" : "Production" };
}

/** `Xcode` and `LocalTesting` are signed by a developer's own machine: nobody's word. */
export function isOfAppStore(environment: string): boolean {
  return environment === "Production" || environment === "Sandbox";
}
