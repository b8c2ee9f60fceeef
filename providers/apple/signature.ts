/**
 * Did the App Store send this? The signature over `signedPayload` and over each JWS inside it, each
 * with a chain of certificates up to a pinned root that was valid when it was signed, and then
 * whether it is about this app. Source: apple/app-store-server-library-node `jws_verification.ts`;
 * developer.apple.com, App Store Server Notifications, responseBodyV2DecodedPayload.
 */
import { z } from "zod";
import { jsonValue } from "../../schemas/json.js";
import { compiled } from "../compiled.js";
import { timeMs } from "../fields.js";
import type { Delivery, Verdict } from "../provider.js";
import { refused } from "../signatures.js";
import type { Claim, VerifiedChains } from "./chain.js";
import type { AppleCredentials } from "./credentials.js";
import { isSignedBy, type Jws, payloadOf, readJws } from "./jws.js";
import { appOf, isOfAppStore, readText } from "./notification.js";
import { appleRootG3 } from "./roots.js";

/**
 * There is no replay window: Apple repeats a notification for days, and its `notificationUUID` is
 * what makes two deliveries one.
 */
export async function verifySignature(
  delivery: Delivery,
  credentials: readonly AppleCredentials[],
  chains: VerifiedChains,
): Promise<Verdict> {
  const body = bodyShape.safeParse(jsonValue(delivery.body));
  if (!body.success) return refused("signature_malformed");
  const { signedPayload } = body.data;
  if (signedPayload === undefined) return refused("signature_missing");
  const jws = readJws(signedPayload);
  if (jws === null) return refused("signature_malformed");

  const trusted = new Set(credentials.flatMap(rootsOf));
  // Begun before anything else is read: of a chain not seen before it takes longest.
  const claim = chains.find(jws, trusted);
  if (claim === null) return refused("signature_mismatch");
  // What it holds is looked at before anybody vouches for it: only to find what else is signed.
  const payload = payloadOf(jws);
  const read = readText(signedPayload, () => payload);
  // Null for a kind to come, which is of no part known here: nothing is read of it, but kept.
  const app = read.success ? appOf(read.data) : null;
  if (!read.success || (app !== null && !isOfAppStore(app.environment))) {
    return refused("signature_mismatch");
  }
  const { data, appData } = read.data;
  const nested = [
    data?.signedTransactionInfo,
    data?.signedRenewalInfo,
    appData?.signedAppTransactionInfo,
  ].flatMap((text) => text ?? []);
  const inside = nested.map((text) => verifyText(text, trusted, chains));
  const outer = verifyPart(jws, payload, claim);
  const verified = await Promise.all([outer, ...inside]);

  const accepted = credentials.some((own) => {
    const roots = rootsOf(own);
    const isOurs = (part: Part | null): boolean =>
      part !== null &&
      roots.includes(part.root) &&
      (part.bundleId ?? own.bundle_id) === own.bundle_id &&
      (part.environment ?? app?.environment) === app?.environment;
    if (!verified.every(isOurs)) return false;
    if (app === null) return true;
    if (app.bundleId !== own.bundle_id) return false;
    // Sandbox notifications do not carry the app's number.
    const isNumbered = own.app_apple_id !== undefined && app.environment === "Production";
    return !isNumbered || app.appAppleId === own.app_apple_id;
  });
  return accepted ? { ok: true, verdict: "signature" } : refused("signature_mismatch");
}

const bodyShape = compiled(z.object({ signedPayload: z.string().optional() }));

function rootsOf({ root_certificates: given }: AppleCredentials): readonly string[] {
  return given ?? [appleRootG3];
}

/** A verified JWS: what its payload says of itself. */
interface Part {
  readonly root: string;
  readonly bundleId?: string | undefined;
  readonly environment?: string | undefined;
}

/** Each JWS has a date of its own; that of an app transaction has other names. */
const partShape = compiled(
  z
    .object({
      signedDate: timeMs.optional(),
      receiptCreationDate: timeMs.optional(),
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

async function verifyText(
  text: string,
  trusted: ReadonlySet<string>,
  chains: VerifiedChains,
): Promise<Part | null> {
  const jws = readJws(text);
  const claim = jws && chains.find(jws, trusted);
  return claim && verifyPart(jws, payloadOf(jws), claim);
}

async function verifyPart(jws: Jws, payload: unknown, claim: Claim): Promise<Part | null> {
  const part = partShape.safeParse(payload);
  if (!part.success) return null;
  // Here: a thread takes nearly as long to begin it, and the chain's own signatures need those.
  const isSigned = isSignedBy(jws, claim.key);
  const chain = await claim.chain;
  if (chain === null || !isSigned) return null;
  const { signedAt, ...reported } = part.data;
  if (signedAt === null || signedAt < chain.validFrom || signedAt > chain.validTo) return null;
  return { root: chain.root, ...reported };
}
