/**
 * Did the App Store send this? The signature over `signedPayload` and over each JWS inside it, each
 * with a chain of certificates up to a pinned root that was valid when it was signed, and then
 * whether it is about this app. Source: apple/app-store-server-library-node `jws_verification.ts`;
 * developer.apple.com, App Store Server Notifications, responseBodyV2DecodedPayload.
 */
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import { compiled, timeMs } from "../fields.js";
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
  if (!body.success) return refused("signature_malformed", "the body is no JSON of Apple's");
  const { signedPayload } = body.data;
  if (signedPayload === undefined) return refused("signature_missing");
  const jws = readJws(signedPayload);
  if (jws === null) return refused("signature_malformed", `signedPayload: ${noJws}`);

  const trusted = new Set(credentials.flatMap(rootsOf));
  // Begun before anything else is read: of a chain not seen before it takes longest.
  const claim = chains.find(jws, trusted);
  if (typeof claim === "string") return mismatch(`signedPayload: ${claim}`);
  // What it holds is looked at before anybody vouches for it: only to find what else is signed.
  const payload = payloadOf(jws);
  const read = readText(signedPayload, () => payload);
  if (!read.success) return mismatch("signedPayload: it is no notification");
  // Null for a kind to come, which is of no part known here: nothing is read of it, but kept.
  const app = appOf(read.data);
  if (app !== null && !isOfAppStore(app.environment)) {
    return mismatch("environment: neither Production nor Sandbox, as Xcode signs");
  }
  const { data, appData } = read.data;
  const nested = {
    signedTransactionInfo: data?.signedTransactionInfo,
    signedRenewalInfo: data?.signedRenewalInfo,
    signedAppTransactionInfo: appData?.signedAppTransactionInfo,
  };
  const inside = Object.entries(nested).flatMap(([name, text]) =>
    text === undefined ? [] : [verifyText(name, text, trusted, chains)],
  );
  const outer = verifyPart("signedPayload", jws, payload, claim);
  const verified = await Promise.all([outer, ...inside]);

  const parts = verified.filter((part) => "root" in part);
  const flaw = verified.find((part) => "flaw" in part);
  if (flaw !== undefined) return mismatch(flaw.flaw);
  const flaws = credentials.map((own) => claimFlaw(own, parts, app));
  if (flaws.includes(null)) return { ok: true, verdict: "signature" };
  return mismatch(flaws[0] ?? "the integration has no credentials");
}

function mismatch(detail: string): Verdict {
  return refused("signature_mismatch", detail);
}

const noJws = "it is no JWS with a signature of ES256";

/** @returns which claim is not about the app of these credentials; null: all are */
function claimFlaw(
  own: AppleCredentials,
  parts: readonly Part[],
  app: ReturnType<typeof appOf>,
): string | null {
  const roots = rootsOf(own);
  // Sandbox notifications do not carry the app's number.
  const isNumbered = own.app_apple_id !== undefined && app?.environment === "Production";
  if (app !== null && app.bundleId !== own.bundle_id) {
    return "bundleId is not the integration's bundle_id";
  }
  if (isNumbered && app.appAppleId !== own.app_apple_id) {
    return "appAppleId is not the integration's app_apple_id";
  }
  for (const { name, root, bundleId, environment } of parts) {
    if (!roots.includes(root)) return `${name}: the root of its chain is not trusted`;
    if ((bundleId ?? own.bundle_id) !== own.bundle_id) return `${name}: bundleId is another app's`;
    if ((environment ?? app?.environment) !== app?.environment) {
      return `${name}: environment is not the notification's`;
    }
  }
  return null;
}

const bodyShape = compiled(z.object({ signedPayload: z.string().optional() }));

function rootsOf({ root_certificates: given }: AppleCredentials): readonly string[] {
  return given ?? [appleRootG3];
}

/** A verified JWS: what its payload says of itself. */
interface Part {
  readonly name: string;
  readonly root: string;
  readonly bundleId?: string | undefined;
  readonly environment?: string | undefined;
}

/** A JWS that is not believed, and why. */
interface Flaw {
  readonly flaw: string;
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
  name: string,
  text: string,
  trusted: ReadonlySet<string>,
  chains: VerifiedChains,
): Promise<Part | Flaw> {
  const jws = readJws(text);
  if (jws === null) return { flaw: `${name}: ${noJws}` };
  const claim = chains.find(jws, trusted);
  if (typeof claim === "string") return { flaw: `${name}: ${claim}` };
  return verifyPart(name, jws, payloadOf(jws), claim);
}

async function verifyPart(
  name: string,
  jws: Jws,
  payload: unknown,
  claim: Claim,
): Promise<Part | Flaw> {
  const flawed = (flaw: string): Flaw => ({ flaw: `${name}: ${flaw}` });
  const part = partShape.safeParse(payload);
  if (!part.success) return flawed("its date or app is malformed");
  // Here: a thread takes nearly as long to begin it, and the chain's own signatures need those.
  const isSigned = isSignedBy(jws, claim.key);
  const chain = await claim.chain;
  if (typeof chain === "string") return flawed(chain);
  if (!isSigned) return flawed("its signature is not its key's");
  const { signedAt, ...reported } = part.data;
  if (signedAt === null) return flawed("it has no date");
  if (signedAt < chain.validFrom || signedAt > chain.validTo) {
    return flawed("a certificate of its chain was not valid when it was signed");
  }
  return { name, root: chain.root, ...reported };
}
