/** The providers whose webhooks the portfolios draw: one entry each. */
import { readConfig } from "../../../config.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { sellerId } from "../../../ops/payloads/gumroad.js";
import { eventBody, type JsonObject } from "../../../ops/payloads/stripe.js";
import { createProviders } from "../../../providers/index.js";
import type { Provider, Signed } from "../../../providers/provider.js";
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

/** Google's and Lemon Squeezy's are not sent: what their APIs answer lies in the body. */
export type Webhook = Exclude<Source, "record">;

interface Webhooks {
  /** False for what the provider marks as a test: it is of another environment. */
  isLive(body: JsonObject): boolean;
  /**
   * When the provider said it, ms since 1970.
   * @param receivedAt ms since 1970: the date of what the provider does not date
   */
  reportedAt(body: JsonObject, receivedAt: number): number;
  /** @param receivedAt as above */
  read(body: unknown, receivedAt: number): readonly BareFact[];
  /** What an integration is given; null: it is not sent. */
  readonly credentials: object | null;
  /** Who signs, where that takes more than the credentials. */
  readonly signer?: unknown;
}

const providers: ReadonlyMap<string, Provider> = createProviders(readConfig({}));
const appStore = makeTestChain();
const secret = { signing_secret: "whsec_of_the_model" };
const customSecret = `whsec_${Buffer.from("of the model's own sender").toString("base64")}`;

/** As the provider posts it; unsigned where it is not sent. */
export function deliveryOf(source: Webhook, body: JsonObject, now = Date.now()): Signed {
  const { credentials, signer = credentials } = webhooks[source];
  const isForm = providers.get(source)?.bodyType === "form";
  const written = isForm ? new URLSearchParams(Object(body)).toString() : JSON.stringify(body);
  const bytes = source === "stripe" ? eventBody(body) : Buffer.from(written);
  if (credentials === null) return { headers: {}, body: bytes };
  return must(providers.get(source), "an adapter").sign(bytes, signer, now);
}

export const webhooks: Readonly<Record<Webhook, Webhooks>> = {
  stripe: {
    isLive: (body) => at(body, "livemode") === true,
    reportedAt: (body) => must(number(body, "created"), "a creation") * 1000,
    read: readStripe,
    credentials: secret,
  },
  revenuecat: {
    isLive: (body) => text(body, "event", "environment") === "PRODUCTION",
    reportedAt: (body) => must(number(body, "event", "event_timestamp_ms"), "a time"),
    read: readRevenueCat,
    credentials: { authorization: "Bearer of the model" },
  },
  gumroad: {
    isLive: (body) => text(body, "test") !== "true",
    reportedAt: gumroadReportedAt,
    read: readGumroad,
    credentials: { seller_id: sellerId },
  },
  custom: {
    isLive: () => true,
    reportedAt: (body) => Date.parse(must(text(body, "occurred_at"), "a time")),
    read: (body) => readRecord({ ...Object(body), provider: "custom" }, Number.NaN),
    credentials: { signing_secret: customSecret },
  },
  paddle: {
    isLive: () => true,
    reportedAt: paddleReportedAt,
    read: readPaddle,
    credentials: secret,
  },
  polar: {
    isLive: () => true,
    reportedAt: polarReportedAt,
    read: readPolar,
    credentials: secret,
  },
  chargebee: {
    isLive: () => true,
    reportedAt: chargebeeReportedAt,
    read: readChargebee,
    credentials: { username: "model", password: "of-the-reference-model" },
  },
  lemonsqueezy: {
    isLive: () => true,
    reportedAt: lemonSqueezyReportedAt,
    read: readLemonSqueezy,
    credentials: null,
  },
  apple: {
    isLive: (body) => text(body, "data", "environment") === "Production",
    reportedAt: (body) => must(number(body, "signedDate"), "a signed date"),
    read: readApple,
    credentials: { bundle_id: appleBundleId, root_certificates: appStore.x5c.slice(2) },
    signer: appStore,
  },
  google: {
    isLive: isLiveGoogle,
    reportedAt: googleReportedAt,
    read: readGoogle,
    credentials: null,
  },
};
