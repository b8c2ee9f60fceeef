/**
 * Did the App Store send this? The signature over `signedPayload` and over each JWS inside it, each
 * with a chain of certificates up to a pinned root that was valid when it was signed, and then
 * whether it is about this app. Source: apple/app-store-server-library-node `jws_verification.ts`;
 * developer.apple.com, App Store Server Notifications, responseBodyV2DecodedPayload.
 */
import { z } from "zod";
import type { Delivery, Verdict } from "../provider.js";
import { refused } from "../signatures.js";
import type { VerifiedChains } from "./chain.js";
import type { AppleCredentials } from "./credentials.js";
import { isSignedBy, payloadOf, readJws } from "./jws.js";
import { appOf, field, isOfAppStore, notificationShape } from "./notification.js";
import { appleRootG3 } from "./roots.js";

/**
 * There is no replay window: Apple repeats a notification for days, and its `notificationUUID` is
 * what makes two deliveries one.
 */
export function verifySignature(
  delivery: Delivery,
  credentials: readonly AppleCredentials[],
  chains: VerifiedChains,
): Verdict {
  const body = bodyShape.safeParse(parseJson(delivery.body));
  if (!body.success) return refused("signature_malformed");
  const { signedPayload } = body.data;
  if (signedPayload === undefined) return refused("signature_missing");
  if (readJws(signedPayload) === null) return refused("signature_malformed");

  const trusted = new Set(credentials.flatMap(rootsOf));
  const outer = verifyPart(signedPayload, trusted, chains);
  if (outer === null) return refused("signature_mismatch");
  const read = notificationShape.safeParse(outer.payload);
  const app = read.success ? appOf(read.data) : null;
  // Genuine, but of no shape that could be told to belong to this app.
  if (!read.success || app === null || !isOfAppStore(app.environment)) {
    return refused("signature_mismatch");
  }
  const { data, appData } = read.data;
  const inside = [
    data?.signedTransactionInfo,
    data?.signedRenewalInfo,
    appData?.signedAppTransactionInfo,
  ].flatMap((text) => (text === undefined ? [] : [verifyPart(text, trusted, chains)]));

  const accepted = credentials.some((own) => {
    const roots = rootsOf(own);
    const isOurs = (part: Part | null): boolean =>
      part !== null &&
      roots.includes(part.root) &&
      (part.bundleId ?? own.bundle_id) === own.bundle_id &&
      (part.environment ?? app.environment) === app.environment;
    if (!isOurs(outer) || !inside.every(isOurs) || app.bundleId !== own.bundle_id) return false;
    // Sandbox notifications do not carry the app's number.
    const isNumbered = own.app_apple_id !== undefined && app.environment === "Production";
    return !isNumbered || app.appAppleId === own.app_apple_id;
  });
  return accepted ? { ok: true, verdict: "signature" } : refused("signature_mismatch");
}

const bodyShape = z.compile(z.object({ signedPayload: z.string().optional() }));

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function rootsOf({ root_certificates: given }: AppleCredentials): readonly string[] {
  return given ?? [appleRootG3];
}

/** A verified JWS: what its payload says of itself. */
interface Part {
  readonly root: string;
  readonly payload: unknown;
  readonly bundleId?: string | undefined;
  readonly environment?: string | undefined;
}

/** Each JWS has a date of its own; that of an app transaction has other names. */
const partShape = z.compile(
  z
    .object({
      signedDate: field.time.optional(),
      receiptCreationDate: field.time.optional(),
      bundleId: z.string().optional(),
      environment: z.string().optional(),
      receiptType: z.string().optional(),
    })
    .transform(({ signedDate, receiptCreationDate, bundleId, environment, receiptType }) => ({
      signedAt: signedDate ?? receiptCreationDate ?? null,
      bundleId,
      environment: environment ?? receiptType,
    })),
);

function verifyPart(
  text: string,
  trusted: ReadonlySet<string>,
  chains: VerifiedChains,
): Part | null {
  const jws = readJws(text);
  const chain = jws && chains.find(jws, trusted);
  if (jws === null || chain === null || !isSignedBy(jws, chain.key)) return null;
  const payload = payloadOf(jws);
  const part = partShape.safeParse(payload);
  if (!part.success) return null;
  const { signedAt, ...told } = part.data;
  if (signedAt === null || signedAt < chain.validFrom || signedAt > chain.validTo) return null;
  return { root: chain.root, payload, ...told };
}
