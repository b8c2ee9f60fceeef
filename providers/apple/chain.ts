/**
 * Is a chain of certificates Apple's? Root pinned, signatures, names, the two extensions by which
 * Apple marks what may sign App Store data, and from when to when all of it is valid. Done once for
 * each chain; the result is kept. Source: apple/app-store-server-library-node
 * `jws_verification.ts`; revocation (OCSP) is not asked: docs/decisions/providers.md.
 */
import { type KeyObject, X509Certificate } from "node:crypto";
import { LRUCache } from "lru-cache";
import { hasExtension, isIssuedBy } from "./certificate.js";
import { chainOf, type Jws } from "./jws.js";

/** Apple: “Mac App Store Receipt Signing”, 1.2.840.113635.100.6.11.1. */
export const leafMark = Buffer.from("060a2a864886f76364060b01", "hex");
/** “Worldwide Developer Relations intermediate”, 1.2.840.113635.100.6.2.1. */
export const intermediateMark = Buffer.from("060a2a864886f76364060201", "hex");

interface Validity {
  /** ms since 1970 */
  readonly validFrom: number;
  readonly validTo: number;
}

/** With the validity of all three together. */
interface Chain extends Validity {
  /** The root's DER in base64: one of those that were trusted. */
  readonly root: string;
  readonly key: KeyObject;
}

/** The key a header shows: usable at once, believed when the chain holds. */
export interface Claim {
  readonly root: string;
  readonly key: KeyObject;
  /** What is wrong with it instead, in words for the log. */
  readonly chain: Promise<Chain | string>;
}

/** Apple signs with a few keys at a time, under fewer intermediates. */
export const chainsMax = 32;

/** Chains by header text, and the intermediates they hang on; verified ones are remembered. */
export class VerifiedChains {
  readonly #claims = new LRUCache<string, Claim>({ max: chainsMax });
  /** Several parts of one notification show the same chain while it is being verified. */
  readonly #checking = new Map<string, Claim>();
  readonly #issuers = new LRUCache<string, Certificate>({ max: chainsMax });
  /** Only trusted ones: reading a certificate takes a fifth of a millisecond. */
  readonly #roots = new LRUCache<string, Certificate>({ max: chainsMax });

  get size(): number {
    return this.#claims.size;
  }

  /**
   * @param trusted roots, DER in base64
   * @returns what is wrong with it, where that needs no look at a signature
   */
  find({ headerText }: Jws, trusted: ReadonlySet<string>): Claim | string {
    const kept = this.#claims.get(headerText);
    if (kept !== undefined && trusted.has(kept.root)) return kept;
    const checking = this.#checking.get(headerText);
    if (checking !== undefined && trusted.has(checking.root)) return checking;
    const certificates = chainOf(headerText);
    if (certificates === null) return "its header is not ES256 with a chain of three certificates";
    const claim = this.#claim(certificates, trusted);
    if (typeof claim !== "string") void this.#check(headerText, claim);
    return claim;
  }

  /**
   * A signature of P-384 takes a millisecond: each is begun as soon as there is a key to check it
   * with, and the rest is read meanwhile.
   */
  #claim(
    [leafDer, intermediateDer, rootDer]: readonly [Buffer, Buffer, Buffer],
    trusted: ReadonlySet<string>,
  ): Claim | string {
    const root = rootDer.toString("base64");
    if (!trusted.has(root)) return "the root of its chain is not trusted";
    if (!hasExtension(leafDer, leafMark)) return "its leaf certificate lacks Apple's mark";
    const authority = this.#rootOf(root, rootDer);
    if (authority === null) return "the root of its chain cannot be read";
    const name = `${root} ${intermediateDer.toString("base64")}`;
    const known = this.#issuers.get(name);
    const isIssuerSigned = known !== undefined || isIssuedBy(intermediateDer, authority.key);
    const issuer = known ?? readIssuer(intermediateDer, authority);
    if (issuer === null) return "its intermediate certificate lacks Apple's mark or may not issue";
    const isLeafSigned = isIssuedBy(leafDer, issuer.key);
    const leaf = readCertificate(leafDer);
    if (!leaf?.x509.checkIssued(issuer.x509)) {
      return "its leaf certificate is not the intermediate's, or cannot be read";
    }
    const { key } = leaf;
    // ES256 is over P-256 and nothing else.
    if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") return "its key is not over P-256";
    const held = { root, key, ...validityOf([issuer, leaf]) };
    const chain = Promise.all([isLeafSigned, isIssuerSigned]).then(([isLeaf, isIssuer]) => {
      if (isIssuer) this.#issuers.set(name, issuer);
      return isLeaf && isIssuer ? held : "a certificate is not signed by the one above it";
    });
    return { root, key, chain };
  }

  #rootOf(name: string, der: Buffer): Certificate | null {
    const root = this.#roots.get(name) ?? readCertificate(der);
    if (root !== null) this.#roots.set(name, root);
    return root;
  }

  /** Only what holds is kept, so a stranger cannot push out Apple's. */
  async #check(headerText: string, claim: Claim): Promise<void> {
    this.#checking.set(headerText, claim);
    const chain = await claim.chain.catch(() => ""); // the caller gets the error
    this.#checking.delete(headerText);
    if (typeof chain !== "string") this.#claims.set(headerText, claim);
  }
}

/** With the validity of those above it, where it is an intermediate. */
interface Certificate extends Validity {
  readonly x509: X509Certificate;
  readonly key: KeyObject;
}

/** Everything but whether the root signed it. */
function readIssuer(der: Buffer, root: Certificate): Certificate | null {
  const issuer = hasExtension(der, intermediateMark) ? readCertificate(der) : null;
  // `checkIssued` compares names and key ids and what the issuer's key may be used for.
  if (!issuer?.x509.ca || !issuer.x509.checkIssued(root.x509)) return null;
  return { ...issuer, ...validityOf([root, issuer]) };
}

/** Of all together. */
function validityOf(all: readonly Validity[]): Validity {
  return {
    validFrom: Math.max(...all.map(({ validFrom }) => validFrom)),
    validTo: Math.min(...all.map(({ validTo }) => validTo)),
  };
}

/** @returns null for what is none, or whose key is no point of its curve */
function readCertificate(der: Buffer): Certificate | null {
  try {
    const x509 = new X509Certificate(der);
    const [validFrom, validTo] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)];
    return { x509, key: x509.publicKey, validFrom, validTo };
  } catch {
    return null;
  }
}
