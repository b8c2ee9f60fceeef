/** The demo's provider accounts: their credentials, and who signs what they deliver. */
import { createPrivateKey, randomBytes } from "node:crypto";
import { z } from "zod";
import { readConfig } from "../../config.js";
import { sellerId } from "../payloads/gumroad.js";
import { makeTestChain } from "../payloads/apple-test-chain.js";
import { createProviders } from "../../providers/index.js";
import type { Provider, Signed } from "../../providers/provider.js";

const shopTokens = ["paddle", "lemonsqueezy", "gumroad", "revenuecat", "apple", "custom"] as const;
export type ShopToken = (typeof shopTokens)[number];
/** Google's sales stand in its API only, which a demo has not. */
export const demoTokens = ["stripe", ...shopTokens] as const;
export type DemoToken = (typeof demoTokens)[number];

export const appOfDemo = {
  bundleId: "com.example.demo",
  appAppleId: 6_400_000_001,
  environment: "Production",
} as const;

/** What is remembered of an account: all that can be written as JSON. */
export const account = z.object({
  credentials: z.record(z.string(), z.unknown()),
  /** Apple's alone: the key its credentials hold only the certificate of. */
  applePrivateKey: z.string().optional(),
  appleCertificates: z.array(z.string()).optional(),
});
export type Account = z.output<typeof account>;

export function newAccount(token: DemoToken): Account {
  if (token === "apple") return appleAccount();
  if (token === "gumroad") return { credentials: { seller_id: sellerId } };
  return { credentials: { signing_secret: secretOf(token) } };
}

/** One after the other, as lists show them. */
export async function ofEach<T>(
  make: (token: DemoToken) => Promise<T>,
): Promise<Record<DemoToken, T>> {
  return {
    stripe: await make("stripe"),
    paddle: await make("paddle"),
    lemonsqueezy: await make("lemonsqueezy"),
    gumroad: await make("gumroad"),
    revenuecat: await make("revenuecat"),
    apple: await make("apple"),
    custom: await make("custom"),
  };
}

/** @param now ms since 1970 */
export function signed(token: DemoToken, from: Account, body: Buffer, now: number): Signed {
  const provider = adapters.get(token);
  if (provider === undefined) throw new Error(`no adapter for ${token}`);
  return provider.sign(body, signerOf(from), now);
}

const adapters: ReadonlyMap<string, Provider> = createProviders(readConfig({}));

function signerOf({ credentials, applePrivateKey, appleCertificates }: Account): unknown {
  if (applePrivateKey === undefined) return credentials;
  return { key: createPrivateKey(applePrivateKey), x5c: appleCertificates };
}

/** A chain nobody else trusts: the integration is given its root. */
function appleAccount(): Account {
  const { key, x5c } = makeTestChain();
  return {
    credentials: { bundle_id: appOfDemo.bundleId, root_certificates: x5c.slice(-1) },
    applePrivateKey: key.export({ type: "pkcs8", format: "pem" }).toString(),
    appleCertificates: [...x5c],
  };
}

const secretBytes = 24;

function secretOf(token: DemoToken): string {
  const random = randomBytes(secretBytes);
  return token === "custom"
    ? `whsec_${random.toString("base64")}`
    : `demo_${token}_${random.toString("hex")}`;
}
