/**
 * Who signed a certificate, found out in libuv's threads: P-384 takes a millisecond, in which the
 * endpoint would answer nobody. `X509Certificate.verify` of node has no such form.
 */
import { type KeyObject, verify, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { oidElement, signedPartsOf } from "./der.js";

const verifyAside = promisify(verify);

/** ecdsa-with-SHA256, -SHA384 and -SHA512 (RFC 5758); Apple's are of SHA-384. */
const digests: readonly (readonly [algorithm: Buffer, digest: string])[] = [
  [oidElement("1.2.840.10045.4.3.2"), "sha256"],
  [oidElement("1.2.840.10045.4.3.3"), "sha384"],
  [oidElement("1.2.840.10045.4.3.4"), "sha512"],
];

/**
 * Begun at once, before anything else is known of the certificate; false too for what is none.
 * @param der of the certificate
 * @param key of the issuer; with a signature of any other kind it is checked on this thread
 */
export async function isIssuedBy(der: Buffer, key: KeyObject): Promise<boolean> {
  try {
    return await isSigned(der, key);
  } catch {
    return false;
  }
}

async function isSigned(der: Buffer, key: KeyObject): Promise<boolean> {
  const parts = signedPartsOf(der);
  const digest = parts && digests.find(([algorithm]) => algorithm.equals(parts.algorithm))?.[1];
  if (!parts || !digest || key.asymmetricKeyType !== "ec") {
    return new X509Certificate(der).verify(key);
  }
  return verifyAside(digest, parts.signed, key, parts.signature);
}
