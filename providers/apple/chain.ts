/**
 * Is a chain of certificates Apple's? Root pinned, signatures, names, the two extensions by which
 * Apple marks what may sign App Store data, and from when to when all of it is valid. Done once for
 * each chain; the result is kept. Source: apple/app-store-server-library-node
 * `jws_verification.ts`; revocation (OCSP) is not asked: docs/decisions/2026-11-21-apple-chain.md.
 */
import { type KeyObject, X509Certificate } from "node:crypto";
import { isIssuedBy } from "./certificate.js";
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

/** The key a header shows: usable at once, believed when the chain holds. */
export interface Claim {
  readonly root: string;
  readonly key: KeyObject;
  /** Null when a signature in it is wrong. */
  readonly chain: Promise<Chain | null>;
}

/** Apple signs with a few keys at a time, under fewer intermediates. */
export const chainsMax = 32;

/** Chains by header text, and the intermediates they hang on; verified ones are remembered. */
export class VerifiedChains {
  readonly #claims = new Map<string, Claim>();
  /** Several parts of one notification show the same chain while it is being verified. */
  readonly #checking = new Map<string, Claim>();
  readonly #issuers = new Map<string, Issuer>();
  /** Only trusted ones: reading a certificate takes a fifth of a millisecond. */
  readonly #roots = new Map<string, X509Certificate>();

  get size(): number {
    return this.#claims.size;
  }

  /**
   * @param trusted roots, DER in base64
   * @returns null for what needs no look at a signature to be refused
   */
  find({ headerText }: Jws, trusted: ReadonlySet<string>): Claim | null {
    const kept = this.#claims.get(headerText);
    if (kept !== undefined && trusted.has(kept.root)) {
      keep(this.#claims, headerText, kept);
      return kept;
    }
    const checking = this.#checking.get(headerText);
    if (checking !== undefined && trusted.has(checking.root)) return checking;
    const certificates = chainOf(headerText);
    const claim = certificates && this.#claim(certificates, trusted);
    if (claim !== null) void this.#check(headerText, claim);
    return claim;
  }

  /** Each signature of P-384 takes a millisecond, in which the certificates are read. */
  #claim(
    [leafDer, intermediateDer, rootDer]: readonly [Buffer, Buffer, Buffer],
    trusted: ReadonlySet<string>,
  ): Claim | null {
    const root = rootDer.toString("base64");
    if (!trusted.has(root) || !hasExtension(leafDer, leafMark)) return null;
    const name = `${root} ${intermediateDer.toString("base64")}`;
    const known = this.#issuers.get(name);
    const rootCertificate = this.#rootOf(root, rootDer);
    if (rootCertificate === null) return null;
    const isIssuerSigned =
      known !== undefined || isIssuedBy(intermediateDer, rootCertificate.publicKey);
    const issuer = known ?? readIssuer(intermediateDer, rootCertificate);
    if (issuer === null) return null;
    const isLeafSigned = isIssuedBy(leafDer, issuer.key);
    const leaf = parseCertificate(leafDer);
    const key = leaf && signingKeyOf(leaf);
    if (leaf === null || key === null || !leaf.checkIssued(issuer.certificate)) return null;
    const chain = Promise.all([isLeafSigned, isIssuerSigned]).then(([isLeaf, isIssuer]) => {
      if (isIssuer) keep(this.#issuers, name, issuer);
      return isLeaf && isIssuer ? { root, key, ...validityOf([issuer, timesOf(leaf)]) } : null;
    });
    return { root, key, chain };
  }

  #rootOf(name: string, der: Buffer): X509Certificate | null {
    const root = this.#roots.get(name) ?? parseCertificate(der);
    if (root !== null) keep(this.#roots, name, root);
    return root;
  }

  /** Only what holds is kept, so a stranger cannot push out Apple's. */
  async #check(headerText: string, claim: Claim): Promise<void> {
    this.#checking.set(headerText, claim);
    const chain = await claim.chain.catch(() => null); // whoever asked is told
    this.#checking.delete(headerText);
    if (chain !== null) keep(this.#claims, headerText, claim);
  }
}

/** The least recently used first, and no more than so many. */
function keep<Kept>(map: Map<string, Kept>, name: string, value: Kept): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > chainsMax && oldest !== undefined) map.delete(oldest);
}

interface Validity {
  /** ms since 1970 */
  readonly validFrom: number;
  readonly validTo: number;
}

/** An intermediate under its root, and from when to when both are valid. */
interface Issuer extends Validity {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

/** Everything but whether the root signed it. */
function readIssuer(intermediateDer: Buffer, root: X509Certificate): Issuer | null {
  if (!hasExtension(intermediateDer, intermediateMark)) return null;
  const certificate = parseCertificate(intermediateDer);
  // `checkIssued` compares names and key ids and what the issuer's key may be used for.
  if (!certificate?.ca || !certificate.checkIssued(root)) return null;
  return {
    certificate,
    key: certificate.publicKey,
    ...validityOf([timesOf(certificate), timesOf(root)]),
  };
}

function timesOf({ validFrom, validTo }: X509Certificate): Validity {
  return { validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) };
}

/** Of all together. */
function validityOf(all: readonly Validity[]): Validity {
  return {
    validFrom: Math.max(...all.map(({ validFrom }) => validFrom)),
    validTo: Math.min(...all.map(({ validTo }) => validTo)),
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
