/**
 * The Google Play Developer API: a service account's key asks for an access token, good for an
 * hour. Source: developers.google.com/identity/protocols/oauth2/service-account#httprest.
 */
import { createPrivateKey, sign } from "node:crypto";
import { z } from "zod";
import type { ProviderApi } from "../provider.js";
import { signedText } from "./token.js";

/** The fields of the key's file that are used; the file may have others. */
export const serviceAccountKey = z.object({
  client_email: z.string().min(1),
  private_key: z.string().refine(isPrivateKey, "must be a private key in PEM"),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }),
});

const scope = "https://www.googleapis.com/auth/androidpublisher";
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const assertionSeconds = 3600;

const tokenAnswer = z.object({ access_token: z.string().min(1), expires_in: z.number() });

type Keyed = { readonly service_account_key?: z.output<typeof serviceAccountKey> | undefined };

export const api: ProviderApi<Keyed> = {
  baseUrl: () => "https://androidpublisher.googleapis.com",
  async authorize({ service_account_key: key }, now, post) {
    if (key === undefined) return null;
    const form = { grant_type: grantType, assertion: assertionOf(key, now) };
    const { access_token: token, expires_in: seconds } = tokenAnswer.parse(
      await post(key.token_uri, form),
    );
    return { headers: { authorization: `Bearer ${token}` }, until: now + seconds * 1000 };
  },
  // Google allows 3,000 a minute for each of several buckets; the day's quota is 200,000 calls.
  requestsPerSecond: 20,
  // A purchase token of another app, or one that is none: nothing that other credentials change.
  absentStatus: 400,
};

function assertionOf(key: z.output<typeof serviceAccountKey>, now: number): string {
  const iat = Math.floor(now / 1000);
  const kid = key.private_key_id === undefined ? {} : { kid: key.private_key_id };
  const signed = signedText(
    { alg: "RS256", typ: "JWT", ...kid },
    { iss: key.client_email, scope, aud: key.token_uri, iat, exp: iat + assertionSeconds },
  );
  const signature = sign("RSA-SHA256", Buffer.from(signed), key.private_key);
  return `${signed}.${signature.toString("base64url")}`;
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}
