/**
 * The push's OpenID Connect token: `Authorization: Bearer <JWT>`, RS256, signed by Google for the
 * service account the merchant chose. It does not sign the body. Source: cloud.google.com/pubsub
 * /docs/authenticate-push-subscriptions. Why by hand: docs/decisions/providers.md.
 */
import { type KeyObject, verify } from "node:crypto";
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import { compiled } from "../fields.js";
import type { Delivery, Verdict } from "../provider.js";
import { refused, signCompact } from "../signatures.js";

export const tokenHeader = "authorization";

/** As Google's own libraries allow clocks to differ. */
const clockSkewSeconds = 300;
/** Google's tokens are good for an hour. */
const tokenSeconds = 3600;
/** Google's have about 900. */
const tokenLengthMax = 4096;

const issuers: readonly string[] = ["https://accounts.google.com", "accounts.google.com"];
const algorithm = "RSA-SHA256";

/** For whom a push is, and from whom; `keyOf` finds the public key of an id. */
export interface Expected {
  readonly audience: string;
  readonly email: string;
  keyOf(kid: string): Promise<KeyObject | null> | KeyObject | null;
}

/**
 * The claims are compared first, so that a caller who does not know them causes no key lookup. The
 * age is checked last, so that only a genuine call learns that it is stale.
 */
export async function verifyToken(
  delivery: Delivery,
  expected: readonly Expected[],
  now: number,
): Promise<Verdict> {
  const header = delivery.headers[tokenHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  const token = readToken(header);
  if (token === null) return refused("signature_malformed");
  const { iss, aud, email, email_verified: isVerified, iat, exp } = token.claims;
  if (!issuers.includes(iss) || isVerified !== true) return refused("signature_mismatch");
  const meant = expected.filter((each) => each.audience === aud && each.email === email);
  for (const each of meant) {
    const key = await each.keyOf(token.kid);
    if (key === null || !verify(algorithm, token.signed, key, token.signature)) continue;
    const nowSeconds = Math.floor(now / 1000);
    const isStale = nowSeconds > exp + clockSkewSeconds || iat > nowSeconds + clockSkewSeconds;
    return isStale ? refused("signature_stale") : { ok: true, verdict: "token" };
  }
  return refused("signature_mismatch");
}

/** What signs a push in place of Google: a key pair of one's own, its public half in `jwks`. */
export interface TokenSigner {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly audience: string;
  readonly email: string;
}

/** One token serves the deliveries of an hour, as Google's do. */
export function tokenOf({ kid, privateKey, audience, email }: TokenSigner, now: number): string {
  const iat = Math.floor(now / 1000);
  const claims = { email, email_verified: true, iss: issuers[0] };
  const times = { iat, exp: iat + tokenSeconds };
  const header = { alg: "RS256", typ: "JWT", kid } as const;
  return signCompact(header, { aud: audience, ...claims, ...times }, privateKey);
}

const tokenShape = /^Bearer +([\w-]+)\.([\w-]+)\.([\w-]+)$/i;
/** `crit` names what a reader must understand; Google names nothing, and so do we. */
const joseShape = compiled(
  z.object({
    alg: z.literal("RS256"),
    kid: z.string(),
    crit: z.undefined().optional(),
  }),
);
const claimsShape = compiled(
  z.object({
    iss: z.string(),
    aud: z.string(),
    email: z.string().optional(),
    email_verified: z.boolean().optional(),
    iat: z.number(),
    exp: z.number(),
  }),
);

function readToken(header: string) {
  if (header.length > tokenLengthMax) return null;
  const [, jose = "", claims = "", signature = ""] = tokenShape.exec(header) ?? [];
  const head = joseShape.safeParse(parsePart(jose)).data;
  const body = claimsShape.safeParse(parsePart(claims)).data;
  if (head === undefined || body === undefined) return null;
  return {
    kid: head.kid,
    claims: body,
    signed: Buffer.from(`${jose}.${claims}`),
    signature: Buffer.from(signature, "base64url"),
  };
}

/** @returns undefined for what is no JSON in base64url */
function parsePart(part: string): unknown {
  return jsonValue(Buffer.from(part, "base64url"));
}
