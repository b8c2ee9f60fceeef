/**
 * The App Store Server API, which only a backfill asks: each call carries a token that the
 * merchant's key signed. Sources: developer.apple.com/documentation/appstoreserverapi, “Generating
 * JSON Web Tokens for API requests” and “Identifying rate limits”.
 */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import { parseJsonText } from "../../schemas/json.js";
import type { ProviderApi } from "../provider.js";
import { signCompact } from "../signatures.js";
import type { AppleCredentials } from "./credentials.js";

/** Apple takes tokens of up to an hour. */
const tokenSeconds = 30 * 60;

export const appleApi: ProviderApi<AppleCredentials> = {
  baseUrl: () => "https://api.storekit.itunes.apple.com",
  allowsCalls: ({ private_key: key }) => key !== undefined,
  async authorize({ bundle_id: bid, issuer_id: iss, key_id: kid, private_key: pem }, now) {
    return pem === undefined ? null : signedToken({ iss, kid, pem }, { bid }, tokenSeconds, now);
  },
  // Of one app: 50 a second, but 10 for refunds, counted by the hour.
  requestsPerSecond: 10,
  meaningOf(status, text) {
    if (status !== 400 && status !== 404) return null;
    const json = parseJsonText(text);
    const { errorCode = 0 } = (json.ok ? errorAnswer.safeParse(json.value).data : null) ?? {};
    if (notNow.has(errorCode)) return "trouble";
    return nobodys.has(errorCode) ? "absent" : "refused";
  },
};

/** Both of Apple's APIs take tokens of this form, each of a key of its own kind. */
export function signedToken(
  { iss, kid, pem }: Readonly<Record<"iss" | "kid", string | undefined>> & { readonly pem: string },
  claims: object,
  seconds: number,
  now: number,
) {
  const iat = Math.floor(now / 1000);
  const exp = iat + seconds;
  const token = signCompact(
    { alg: "ES256", kid, typ: "JWT" },
    { iss, iat, exp, aud: "appstoreconnect-v1", ...claims },
    createPrivateKey(pem),
  );
  return { headers: { authorization: `Bearer ${token}` }, until: exp * 1000 };
}

const errorAnswer = z.object({ errorCode: z.int() });
/** AccountNotFoundRetryableError, AppNotFound…, OriginalTransactionIdNotFound…. */
const notNow: ReadonlySet<number> = new Set([4040002, 4040004, 4040006]);
/**
 * An id that is none, or of another app: InvalidTransactionIdError, InvalidOriginalTransactionId…,
 * AccountNotFound…, OriginalTransactionIdNotFound…, TransactionIdNotFound….
 */
const nobodys: ReadonlySet<number> = new Set([4000006, 4000008, 4040001, 4040005, 4040010]);
