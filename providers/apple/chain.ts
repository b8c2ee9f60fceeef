/**
 * Is a chain of certificates Apple's? Root pinned, signatures, names, the two extensions by which
 * Apple marks what may sign App Store data, and from when to when all of it is valid. Done once for
 * each chain; the result is kept. Source: apple/app-store-server-library-node
 * `jws_verification.ts`; revocation (OCSP) is not asked: docs/decisions/2026-11-21-apple-chain.md.
 */
import { type KeyObject, X509Certificate } from "node:crypto";
import { hasExtension } from "./der.js";
import { chainOf, type Jws } from "./jws.js";

/** Apple: “Mac App Store Receipt Signing”, “Worldwide Developer Relations intermediate”. */
export const leafMark = "1.2.840.113635.100.6.11.1";
export const intermediateMark = "1.2.840.113635.100.6.2.1";

export interface Chain {
  /** The root's DER in base64: one of those that were trusted. */
  readonly root: string;
  readonly key: KeyObject;
  /** ms since 1970, of all three together. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** Apple signs with a few keys at a time. */
export const chainsMax = 32;

/** Verified chains by header text, the least recently used first. */
export class VerifiedChains {
  readonly #chains = new Map<string, Chain>();

  get size(): number {
    return this.#chains.size;
  }

  /** @param trusted roots, DER in base64 */
  find(jws: Jws, trusted: ReadonlySet<string>): Chain | null {
    const kept = this.#chains.get(jws.headerText);
    if (kept !== undefined && trusted.has(kept.root)) {
      this.#keep(jws.headerText, kept);
      return kept;
    }
    const certificates = chainOf(jws);
    const chain = certificates && verifyChain(certificates, trusted);
    if (chain !== null) this.#keep(jws.headerText, chain);
    return chain;
  }

  /** Only chains under a trusted root get here, so a stranger cannot push out Apple's. */
  #keep(headerText: string, chain: Chain): void {
    this.#chains.delete(headerText);
    this.#chains.set(headerText, chain);
    const [oldest] = this.#chains.keys();
    if (this.#chains.size > chainsMax && oldest !== undefined) this.#chains.delete(oldest);
  }
}

/** Cheap checks first: each of the two signatures takes a millisecond. */
function verifyChain(
  [leafDer, intermediateDer, rootDer]: readonly [Buffer, Buffer, Buffer],
  trusted: ReadonlySet<string>,
): Chain | null {
  const rootText = rootDer.toString("base64");
  if (!trusted.has(rootText)) return null;
  if (!hasExtension(leafDer, leafMark)) return null;
  if (!hasExtension(intermediateDer, intermediateMark)) return null;
  const certificates = [leafDer, intermediateDer, rootDer].map(parseCertificate);
  const [leaf, intermediate, root] = certificates;
  if (!leaf || !intermediate || !root) return null;
  // `checkIssued` compares names and key ids and what the issuer's key may be used for.
  if (!intermediate.ca || !leaf.checkIssued(intermediate) || !intermediate.checkIssued(root)) {
    return null;
  }
  const key = signingKeyOf(leaf);
  if (key === null) return null;
  if (!intermediate.verify(root.publicKey) || !leaf.verify(intermediate.publicKey)) return null;
  const all = [leaf, intermediate, root];
  return {
    root: rootText,
    key,
    validFrom: Math.max(...all.map(({ validFrom }) => Date.parse(validFrom))),
    validTo: Math.min(...all.map(({ validTo }) => Date.parse(validTo))),
  };
}

function parseCertificate(der: Buffer): X509Certificate | null {
  try {
    return new X509Certificate(der);
  } catch {
    return null;
  }
}

/** ES256 is over P-256 and nothing else. */
function signingKeyOf({ publicKey }: X509Certificate): KeyObject | null {
  const isP256 = publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1";
  return publicKey.asymmetricKeyType === "ec" && isP256 ? publicKey : null;
}
