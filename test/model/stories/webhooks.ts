/** The providers whose webhooks the portfolios draw: one entry each. */
import { notificationBody } from "../../../ops/payloads/apple.js";
import { signNotification } from "../../../providers/apple/jws.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { pushBytes } from "../../../ops/payloads/google.js";
import { signedHeaders } from "../../../providers/custom/signature.js";
import { sellerId } from "../../../ops/payloads/gumroad.js";
import { createChargebee } from "../../../providers/chargebee/index.js";
import { createPolar } from "../../../providers/polar/index.js";
import { signTimed } from "../../../providers/signatures.js";
import { signature } from "../../../providers/paddle/signature.js";
import { eventBody, type JsonObject } from "../../../ops/payloads/stripe.js";
import { appleBundleId } from "./apple-story.js";
import type { BareFact, Source } from "../facts.js";
import { at, must, number, text } from "../readers/json.js";
import { readApple } from "../readers/read-apple.js";
import { isLiveGoogle, readGoogle, googleReportedAt } from "../readers/read-google.js";
import { readLemonSqueezy, lemonSqueezyReportedAt } from "../readers/read-lemonsqueezy.js";
import { readPaddle, paddleReportedAt } from "../readers/read-paddle.js";
import { readGumroad, gumroadReportedAt } from "../readers/read-gumroad.js";
import { chargebeeReportedAt, readChargebee } from "../readers/read-chargebee.js";
import { polarReportedAt, readPolar } from "../readers/read-polar.js";
import { readRecord } from "../readers/read-record.js";
import { readRevenueCat } from "../readers/read-revenuecat.js";
import { readStripe } from "../readers/read-stripe.js";

export interface Webhooks {
  /** False for what the provider marks as a test: it is of another environment. */
  isLive(body: JsonObject): boolean;
  /**
   * When the provider said it, ms since 1970.
   * @param receivedAt ms since 1970: the date of what the provider does not date
   */
  reportedAt(body: JsonObject, receivedAt: number): number;
  /** @param receivedAt as above */
  read(body: unknown, receivedAt: number): readonly BareFact[];
  /** The bytes as the provider posts them. */
  bytes(body: JsonObject): Buffer;
  /** Headers beside the content type; left out: none. */
  headers?(bytes: Buffer, now: number): Readonly<Record<string, string>>;
  /** What an integration is given; Stripe's is signed in merchant.ts. */
  readonly credentials: object;
}

const appStore = makeTestChain();
const authorization = "Bearer of the model";
const customSecret = `whsec_${Buffer.from("of the model's own sender").toString("base64")}`;
const paddleSecret = "pdl_ntfset_01jdmodel";
const polar = createPolar();
const polarCredentials = { signing_secret: "whsec_of_the_model" };
const chargebee = createChargebee();
const chargebeeCredentials = { username: "model", password: "of-the-reference-model" };
const jsonBytes = (body: JsonObject) => Buffer.from(JSON.stringify(body));

export const webhooks: Readonly<Record<Exclude<Source, "record">, Webhooks>> = {
  stripe: {
    isLive: (body) => at(body, "livemode") === true,
    reportedAt: (body) => must(number(body, "created"), "a creation") * 1000,
    read: readStripe,
    bytes: eventBody,
    credentials: {},
  },
  revenuecat: {
    isLive: (body) => text(body, "event", "environment") === "PRODUCTION",
    reportedAt: (body) => must(number(body, "event", "event_timestamp_ms"), "a time"),
    read: readRevenueCat,
    bytes: jsonBytes,
    headers: () => ({ authorization }),
    credentials: { authorization },
  },
  gumroad: {
    isLive: (body) => text(body, "test") !== "true",
    reportedAt: gumroadReportedAt,
    read: readGumroad,
    bytes: (body) => Buffer.from(new URLSearchParams(Object(body)).toString()),
    headers: () => ({ "content-type": "application/x-www-form-urlencoded" }),
    credentials: { seller_id: sellerId },
  },
  custom: {
    isLive: () => true,
    reportedAt: (body) => Date.parse(must(text(body, "occurred_at"), "a time")),
    read: (body) => readRecord({ ...Object(body), provider: "custom" }, Number.NaN),
    bytes: jsonBytes,
    headers: (bytes, now) => signedHeaders(bytes, customSecret, now),
    credentials: { signing_secret: customSecret },
  },
  paddle: {
    isLive: () => true,
    reportedAt: paddleReportedAt,
    read: readPaddle,
    bytes: jsonBytes,
    headers: (bytes, now) => ({
      [signature.header]: signTimed(signature, bytes, paddleSecret, now),
    }),
    credentials: { signing_secret: paddleSecret },
  },
  polar: {
    isLive: () => true,
    reportedAt: polarReportedAt,
    read: readPolar,
    bytes: jsonBytes,
    headers: (bytes, now) => polar.sign(bytes, polarCredentials, now).headers,
    credentials: polarCredentials,
  },
  chargebee: {
    isLive: () => true,
    reportedAt: chargebeeReportedAt,
    read: readChargebee,
    bytes: jsonBytes,
    headers: (bytes, now) => chargebee.sign(bytes, chargebeeCredentials, now).headers,
    credentials: chargebeeCredentials,
  },
  /** Not sent to the endpoints: what its API answers lies in the body, as at Google. */
  lemonsqueezy: {
    isLive: () => true,
    reportedAt: lemonSqueezyReportedAt,
    read: readLemonSqueezy,
    bytes: jsonBytes,
    credentials: {},
  },
  apple: {
    isLive: (body) => text(body, "data", "environment") === "Production",
    reportedAt: (body) => must(number(body, "signedDate"), "a signed date"),
    read: readApple,
    bytes: (body) => signNotification(notificationBody(body), appStore),
    credentials: { bundle_id: appleBundleId, root_certificates: appStore.x5c.slice(2) },
  },
  /**
   * Not sent to the endpoints: what Google answers lies in the body, for an adapter that reads it.
   */
  google: {
    isLive: isLiveGoogle,
    reportedAt: googleReportedAt,
    read: readGoogle,
    bytes: pushBytes,
    credentials: {},
  },
};
