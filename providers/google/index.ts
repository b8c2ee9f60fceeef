/**
 * Google Play: real-time developer notifications, pushed by Cloud Pub/Sub. They carry no money:
 * questions.ts says what is asked of Google for each, decode.ts what the answers mean.
 * docs/providers/google.md is the page for merchants.
 */
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import type { Delivery, Provider, Verdict } from "../provider.js";
import { googleApi, serviceAccountKey } from "./api.js";
import { digestOf } from "./chain.js";
import { decode, keepsAnswered, neededTypes, needs } from "./decode.js";
import { googleBackfill } from "./history/backfill.js";
import { googleKeysUrl, jwkSet, keysOf, PublishedKeys } from "./keys.js";
import { namedTypes, readPush } from "./notification.js";
import { asks } from "./questions.js";
import { playBucket, reportsBucket } from "./report-bucket.js";
import { googlePlayReports } from "./reports.js";
import { tokenHeader, tokenOf, type TokenSigner, verifyToken } from "./token.js";

const credentialsWith = (tokenHosts: readonly string[]) =>
  z
    .strictObject({
      audience: z.string().trim().min(1),
      service_account_email: z.string().trim().min(1),
      package_name: z.string().trim().min(1),
      service_account_key: serviceAccountKey(tokenHosts).optional(),
      reports_bucket: reportsBucket.optional(),
      jwks: jwkSet
        .refine((set) => keysOf(set).size > 0, "must have an RSA key with a kid")
        .optional(),
    })
    .refine(
      ({ reports_bucket: bucket, service_account_key: key }) =>
        bucket === undefined || key !== undefined,
      { path: ["reports_bucket"], message: "needs the service_account_key" },
    );
export type GoogleCredentials = z.output<ReturnType<typeof credentialsWith>>;

/** What a message that can never be read is called; it is taken, or it would come for days. */
const unreadableType = "UNREADABLE";

/**
 * @param settings.keysUrl where Google's public keys are, unless an integration brings its own
 * @param settings.tokenHosts beside Google's own, where access tokens may be asked for
 */
export function createGoogle(
  settings: { readonly keysUrl?: string; readonly tokenHosts?: readonly string[] } = {},
): Provider<GoogleCredentials, TokenSigner> {
  const { tokenHosts = [] } = settings;
  const published = new PublishedKeys(settings.keysUrl ?? googleKeysUrl);
  return {
    token: "google",
    reportsBothEnvironments: true,
    credentials: credentialsWith(tokenHosts),
    credentialHelp: {
      audience:
        "Google Cloud console > Pub/Sub > Subscriptions > your push subscription > " +
        "Authentication: Audience; where it is empty, the endpoint URL itself",
      service_account_email:
        "Same place: the service account that authenticates the push (…gserviceaccount.com)",
      package_name: "Play Console: the app's package name, like com.example.app",
      service_account_key:
        "Google Cloud console > IAM > Service accounts > Keys > Add key > JSON: the whole file " +
        "as a JSON object. In Play Console > Users and permissions, invite that account with " +
        "“View app information” and “View financial data”. Without it nothing can be booked",
      reports_bucket:
        "Optional: fetches monthly reports, with that key. Play Console > Download reports > " +
        "Financial > Copy Cloud Storage URI (gs://pubsite_prod_rev_…)",
      jwks: "Leave it out: Google's own keys are used. A JSON Web Key Set replaces them in tests",
    },
    subscribeTo: namedTypes,
    neededTypes,
    verify: (delivery, given, now) => verifyPush(delivery, given, now, published),
    sign: (body, signer, now) => ({
      headers: {
        "content-type": "application/json",
        [tokenHeader]: `Bearer ${tokenOf(signer, now)}`,
      },
      body,
    }),
    heading: (body) => {
      const push = readPush(body);
      if (push === null) return null;
      const { messageId, notification } = push;
      const { type, token } =
        "unreadable" in notification ? { type: unreadableType, token: null } : notification;
      return {
        nativeId: messageId,
        nativeType: type,
        sandbox: null,
        accountHint: token === null ? null : digestOf(token),
      };
    },
    keepsAnswered,
    needs,
    api: googleApi(tokenHosts),
    asks,
    backfill: googleBackfill,
    notReconciled:
      "Google Play lists no payments: a missing one is read by its purchase token with the " +
      "history, and monthly reports are compared as sums.",
    reports: googlePlayReports,
    fetchedReports: playBucket(tokenHosts),
    decode,
    flatTypes: {
      ONE_TIME_PRODUCT_PURCHASED: "transaction.sale",
      SUBSCRIPTION_PURCHASED: "subscription.new",
      SUBSCRIPTION_RENEWED: "transaction.sale",
      SUBSCRIPTION_RECOVERED: "transaction.sale",
      SUBSCRIPTION_EXPIRED: "subscription.churn",
      SUBSCRIPTION_REVOKED: "subscription.churn",
      VOIDED_PURCHASE: "transaction.refund",
    },
  };
}

/**
 * Anyone with publish rights on the merchant's topic can write any message. So the package must be
 * the integration's, and everything a message names is confirmed by the API before it is booked.
 */
function verifyPush(
  delivery: Delivery,
  given: readonly GoogleCredentials[],
  now: number,
  published: PublishedKeys,
): Promise<Verdict> {
  const packageName = packageIn(delivery.body);
  const ours = given.filter((one) => packageName === null || one.package_name === packageName);
  return verifyToken(
    delivery,
    ours.map(({ audience, service_account_email: email, jwks }) => ({
      audience,
      email,
      keyOf: (kid) => (jwks ? (keysOf(jwks).get(kid) ?? null) : published.find(kid, now)),
    })),
    now,
  );
}

/** @returns null for what cannot be read: it belongs to nobody else either */
function packageIn(bytes: Buffer): string | null {
  const notification = readPush(jsonValue(bytes))?.notification;
  return notification && !("unreadable" in notification) ? notification.packageName : null;
}
