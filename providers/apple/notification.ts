/**
 * App Store Server Notifications, version 2, as they are sent: `{"signedPayload": "<JWS>"}` with
 * further JWS inside. Here payloads are read without a look at who signed them: the endpoint
 * verified them (signature.ts) and the seal keeps it so.
 */
import { z } from "zod";
import { compiled } from "../compiled.js";
import { payloadOf, readJws } from "./jws.js";

const timeMax = 253_402_300_799_999; // 9999-12-31

/** Fields as Apple writes them. */
export const field = {
  id: z.string().min(1).max(255),
  /** ms since 1970 */
  time: z.int().nonnegative().max(timeMax),
};

/** Which app and which of Apple's environments a part of a notification is of. */
const ofApp = {
  bundleId: z.string(),
  /** Absent in the sandbox. */
  appAppleId: z.int().optional(),
  environment: z.string(),
};

export const notificationShape = compiled(
  z.object({
    notificationType: z.string().min(1),
    subtype: z.string().nullish(),
    notificationUUID: z.string().min(1),
    signedDate: field.time,
    data: z
      .object({
        ...ofApp,
        status: z.int().nullish(),
        signedTransactionInfo: z.string().optional(),
        signedRenewalInfo: z.string().optional(),
      })
      .optional(),
    summary: z.object(ofApp).optional(),
    appData: z.object({ ...ofApp, signedAppTransactionInfo: z.string().optional() }).optional(),
    externalPurchaseToken: z
      .object({
        bundleId: ofApp.bundleId,
        appAppleId: ofApp.appAppleId,
        externalPurchaseId: z.string().optional(),
      })
      .optional(),
  }),
);
export type Notification = z.output<typeof notificationShape>;

const bodyShape = compiled(z.object({ signedPayload: z.string() }));

type Reading = z.ZodSafeParseResult<Notification>;

/** @param body the parsed webhook body */
export function readNotification(body: unknown): Reading {
  const known = typeof body === "object" && body !== null ? readings.get(body) : undefined;
  if (known !== undefined) return known;
  const text = bodyShape.safeParse(body).data?.signedPayload;
  const reading =
    text !== undefined && text === latest?.text
      ? latest.reading
      : notificationShape.safeParse(text === undefined ? text : readPayload(text));
  if (typeof body === "object" && body !== null) readings.set(body, reading);
  return reading;
}

/** The heading and the facts are read from the same body. */
const readings = new WeakMap<object, Reading>();

/** The endpoint verifies a payload, which reads it, and right after that asks for its heading. */
let latest: { readonly text: string; readonly reading: Reading } | null = null;

/** @param text a `signedPayload` that was verified, and what `notificationShape` made of it */
export function keepReading(text: string, reading: Reading): void {
  latest = { text, reading };
}

/** The payload of a JWS, whoever signed it; undefined when it is none. */
export function readPayload(text: string): unknown {
  const jws = readJws(text);
  return jws === null ? undefined : payloadOf(jws);
}

/** The app a notification is about: one of four parts reports it. */
export function appOf(notification: Notification): {
  readonly bundleId: string;
  readonly appAppleId: number | null;
  readonly environment: string;
} | null {
  const { data, summary, appData, externalPurchaseToken: token } = notification;
  const reported = data ?? summary ?? appData;
  if (reported !== undefined) return { ...reported, appAppleId: reported.appAppleId ?? null };
  if (token === undefined) return null;
  const isSandbox = token.externalPurchaseId?.startsWith("SANDBOX") === true;
  const environment = isSandbox ? "Sandbox" : "Production";
  return { bundleId: token.bundleId, appAppleId: token.appAppleId ?? null, environment };
}

/** `Xcode` and `LocalTesting` are signed by a developer's own machine: nobody's word. */
export function isOfAppStore(environment: string): boolean {
  return environment === "Production" || environment === "Sandbox";
}
