/**
 * What a billing provider's adapter is: pure functions from the provider's bytes to facts. An
 * adapter knows no database, no clock and no workspace; it is registered by one line in index.ts.
 */
import type { z } from "zod";
import { type ProviderToken, providerTokens } from "../schemas/provider-tokens.js";
import type { FactBody } from "../schemas/records.js";
import type { EventRecord } from "./record.js";

export { providerTokens, type ProviderToken };

export type Headers = Readonly<Record<string, string | undefined>>;

/** A call as it arrived; header names in lower case. */
export interface Delivery {
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Why a call is not believed; the sender sees `reason`, so it holds no secret. */
export interface Refusal {
  readonly ok: false;
  readonly reason:
    | "signature_missing"
    | "signature_malformed"
    | "signature_stale"
    | "signature_mismatch";
}
export type Verdict = { readonly ok: true; readonly verdict: string } | Refusal;

/** What the door needs to know of a body before it seals it. */
export interface Heading {
  /** The provider's own event id: the identity of all its redeliveries. */
  readonly nativeId: string;
  readonly nativeType: string;
  /** The provider's own sandbox flag; null where it has none. */
  readonly sandbox: boolean | null;
  /** Spreads the raw topic; nothing depends on it. */
  readonly accountHint: string | null;
}

/** One fact as the adapter reads it, before ids, accounts and rates are put in. */
export interface DecodedFact {
  /**
   * When the provider said so, ms since 1970: orders several readings of one thing. Conversion
   * uses the time inside the body (a payment's `at`, a subscription's first step), not this.
   */
  readonly happenedAt: number;
  readonly body: FactBody;
}

/**
 * What became of a body. `ignored`: genuine and of no consequence here. `rejected`: genuine and
 * relevant, but it cannot be understood; kept and listed, to be replayed once it can.
 */
export type Decoded =
  | { readonly outcome: "facts"; readonly facts: readonly DecodedFact[] }
  | { readonly outcome: "ignored"; readonly why: string }
  | { readonly outcome: "rejected"; readonly reason: string; readonly detail: string };

/**
 * An object this event tells whole and later events only name, like a discount by its id. Kept
 * outside the vault: `object` is JSON with what decoding needs and nothing personal.
 */
export interface KeptObject {
  readonly id: string;
  /** ms since 1970; the newest telling counts. */
  readonly toldAt: number;
  /** Ids of further kept objects it only names. */
  readonly refers: readonly string[];
  readonly object: unknown;
}

export interface Provider<Credentials = unknown> {
  readonly token: ProviderToken;
  /** What an integration must be given; unknown fields are refused. */
  readonly credentials: z.ZodType<Credentials>;
  /** Credential fields a person has to look up, each with where to find it. */
  readonly credentialHelp: Readonly<Record<string, string>>;
  /** Provider event types a merchant should subscribe the webhook to. */
  readonly subscribeTo: readonly string[];
  /**
   * True when the untouched bytes were sent by the provider. Constant time in the digests; several
   * signatures and several credentials (a rotation) may be given and any may match.
   * @param now ms since 1970, for the replay window
   */
  verify(delivery: Delivery, credentials: readonly Credentials[], now: number): Verdict;
  /** The headers of a genuine delivery of `body`: for tests, the demo and the load generator. */
  sign(body: Buffer, credentials: Credentials, now: number): Record<string, string>;
  /** @param body the strictly parsed JSON; null when it is no event of this provider */
  heading(body: unknown): Heading | null;
  /** Objects to keep for later events; left out where every event is whole by itself. */
  readonly keeps?: (body: unknown) => readonly KeptObject[];
  /** Ids of kept objects the body names without telling them. */
  readonly needs?: (body: unknown) => readonly string[];
  /**
   * Reads the provider's own whole body. Never throws on data.
   * @param kept what is known of the objects it needs, by id
   */
  decode(body: unknown, kept?: ReadonlyMap<string, unknown>): Decoded;
  /**
   * Native types accepted in the flat form B, with the form A meaning each has
   * (`definitions.md`, Ingest).
   */
  readonly flatTypes: Readonly<Record<string, EventRecord["event_type"]>>;
}
