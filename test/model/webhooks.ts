/** The providers whose webhooks the portfolios draw: one entry each. */
import { notificationBody, signNotification } from "../../providers/apple/payloads.js";
import { makeTestChain } from "../../providers/apple/test-chain.js";
import { eventBody, type JsonObject } from "../../providers/stripe/payloads.js";
import { appleBundleId } from "./apple-story.js";
import type { BareFact, Source } from "./facts.js";
import { at, must, number, text } from "./json.js";
import { readApple } from "./read-apple.js";
import { readStripe } from "./read-stripe.js";

export interface Webhooks {
  /** False for what the provider marks as a test: it is of another environment. */
  isLive(body: JsonObject): boolean;
  /** When the provider said it, ms since 1970. */
  toldAt(body: JsonObject): number;
  read(body: unknown): readonly BareFact[];
  /** The bytes as the provider posts them. */
  bytes(body: JsonObject): Buffer;
  /** What an integration is given; Stripe's is signed in merchant.ts. */
  readonly credentials: object;
}

const appStore = makeTestChain();

export const webhooks: Readonly<Record<Exclude<Source, "record">, Webhooks>> = {
  stripe: {
    isLive: (body) => at(body, "livemode") === true,
    toldAt: (body) => must(number(body, "created"), "a creation") * 1000,
    read: readStripe,
    bytes: eventBody,
    credentials: {},
  },
  apple: {
    isLive: (body) => text(body, "data", "environment") === "Production",
    toldAt: (body) => must(number(body, "signedDate"), "a signed date"),
    read: readApple,
    bytes: (body) => signNotification(notificationBody(body), appStore),
    credentials: { bundle_id: appleBundleId, root_certificates: appStore.x5c.slice(2) },
  },
};
