/**
 * The App Store Server API, which only a backfill asks: each call carries a token that the
 * merchant's key signed. Sources: developer.apple.com/documentation/appstoreserverapi, “Generating
 * JSON Web Tokens for API requests” and “Identifying rate limits”.
 */
import { createPrivateKey } from "node:crypto";
import type { ProviderApi } from "../provider.js";
import type { AppleCredentials } from "./credentials.js";
import { signCompact } from "./jws.js";

/** Apple takes tokens of up to an hour. */
const tokenSeconds = 30 * 60;

export const appleApi: ProviderApi<AppleCredentials> = {
  baseUrl: () => "https://api.storekit.itunes.apple.com",
  allowsCalls: ({ private_key: key }) => key !== undefined,
  async authorize({ bundle_id: bid, issuer_id: iss, key_id: kid, private_key: pem }, now) {
    if (pem === undefined) return null;
    const iat = Math.floor(now / 1000);
    const exp = iat + tokenSeconds;
    const token = signCompact(
      { kid, typ: "JWT" },
      { iss, iat, exp, aud: "appstoreconnect-v1", bid },
      createPrivateKey(pem),
    );
    return { headers: { authorization: `Bearer ${token}` }, until: exp * 1000 };
  },
  // Of one app: 50 a second, but 10 for refunds, counted by the hour.
  requestsPerSecond: 10,
  // An id that is none; one of another app is 404.
  absentStatus: 400,
};
