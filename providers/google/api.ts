/**
 * The Google Play Developer API: a service account's key asks for an access token, good for an
 * hour. Source: developers.google.com/identity/protocols/oauth2/service-account#httprest.
 */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import type { ProviderApi } from "../provider.js";
import { signCompact } from "../signatures.js";

/**
 * The fields of the key's file that are used; the file may have others. A person who may enter a
 * key must not make the service call any address.
 * @param tokenHosts beside Google's own, where tokens may be asked for
 */
export function serviceAccountKey(tokenHosts: readonly string[]) {
  return z.object({
    client_email: z.string().min(1),
    private_key: z.string().refine(isPrivateKey, "must be a private key in PEM"),
    private_key_id: z.string().optional(),
    token_uri: z
      .url({ protocol: /^https?$/ })
      .refine(
        (uri) => isTokenUri(uri, tokenHosts),
        "must be an https address of Google, such as https://oauth2.googleapis.com/token",
      ),
  });
}
type ServiceAccountKey = z.output<ReturnType<typeof serviceAccountKey>>;

function isTokenUri(uri: string, tokenHosts: readonly string[]): boolean {
  const { hostname, protocol, port } = new URL(uri);
  if (tokenHosts.includes(hostname)) return true;
  return protocol === "https:" && port === "" && googleHosts.has(hostname);
}

/** Keys of all ages name one of these. */
const googleHosts: ReadonlySet<string> = new Set([
  "oauth2.googleapis.com",
  "www.googleapis.com",
  "accounts.google.com",
]);

const publisherScope = "https://www.googleapis.com/auth/androidpublisher";
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const assertionSeconds = 3600;

const tokenAnswer = z.object({ access_token: z.string().min(1), expires_in: z.number() });

export type Keyed = { readonly service_account_key?: ServiceAccountKey | undefined };

export function googleApi(tokenHosts: readonly string[]): ProviderApi<Keyed> {
  return {
    baseUrl: () => "https://androidpublisher.googleapis.com",
    allowsCalls: ({ service_account_key: key }) => key !== undefined,
    authorize: authorizedFor(publisherScope, tokenHosts),
    // Google allows 3,000 a minute for each of several buckets; the day's quota is 200,000 calls.
    requestsPerSecond: 20,
    // A purchase token of another app, or one that is none: nothing that other credentials change.
    meaningOf: (status) => (status === 400 ? "absent" : null),
  };
}

export function authorizedFor(
  scope: string,
  tokenHosts: readonly string[],
): ProviderApi<Keyed>["authorize"] {
  return async ({ service_account_key: key }, now, post) => {
    if (key === undefined) return null;
    // Once more: the settings may have named other hosts when it was entered.
    if (!isTokenUri(key.token_uri, tokenHosts)) {
      throw new Error("token_uri of the service account's key names no host of Google");
    }
    const form = { grant_type: grantType, assertion: assertionOf(key, scope, now) };
    const { access_token: token, expires_in: seconds } = tokenAnswer.parse(
      await post(key.token_uri, form),
    );
    return { headers: { authorization: `Bearer ${token}` }, until: now + seconds * 1000 };
  };
}

function assertionOf(key: ServiceAccountKey, scope: string, now: number): string {
  const iat = Math.floor(now / 1000);
  const kid = key.private_key_id === undefined ? {} : { kid: key.private_key_id };
  const { client_email: iss, token_uri: aud, private_key: signer } = key;
  const header = { alg: "RS256", typ: "JWT", ...kid } as const;
  return signCompact(
    header,
    { iss, scope, aud, iat, exp: iat + assertionSeconds },
    createPrivateKey(signer),
  );
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}
