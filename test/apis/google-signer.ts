/** Key pairs that stand in for Google's: what signs a push, and the `jwks` that verifies it. */
import { generateKeyPairSync, type JsonWebKey } from "node:crypto";
import type { TokenSigner } from "../../providers/google/token.js";

export interface TestSigner extends TokenSigner {
  /** As published: the public half under its key id. */
  readonly jwk: JsonWebKey & { readonly kid: string };
}

const keyBits = 2048;

export function makeSigner(kid: string, audience = "https://revenue.example/push"): TestSigner {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: keyBits });
  return {
    kid,
    privateKey,
    audience,
    email: "play-push@example-project.iam.gserviceaccount.com",
    jwk: { ...publicKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" },
  };
}

export const packageName = "com.example.atlas";

/** Credentials of an integration whose pushes this signer signs. */
export function credentialsOf({ audience, email, jwk }: TestSigner) {
  return {
    audience,
    service_account_email: email,
    package_name: packageName,
    jwks: { keys: [jwk] },
  };
}
