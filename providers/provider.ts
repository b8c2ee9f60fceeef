/**
 * What a billing provider's adapter is: pure functions from the provider's bytes to facts. An
 * adapter knows no database, no clock and no workspace; it is registered by one line in index.ts.
 */
import type { z } from "zod";
import type { NeededEvents } from "../schemas/http/manage.js";
import type { ReportKind } from "../schemas/http/reports.js";
import type { ProviderToken } from "../schemas/provider-tokens.js";
import type { Environment, FactBody } from "../schemas/records/records.js";
import type { Backfill, PaymentLookup } from "./backfill.js";
import type { HistoryExport } from "./backfill.js";
import type { Payouts } from "./payouts.js";
import type { EventRecord } from "./record.js";
import type { ReportOf, StoreReports } from "./reports/report.js";

export type { ProviderToken };

export type Headers = Readonly<Record<string, string | undefined>>;

/** A call as it arrived; header names in lower case. */
export interface Delivery {
  readonly headers: Headers;
  readonly body: Buffer;
}

/** A delivery as a client sends it. */
export interface Signed extends Delivery {
  readonly headers: Record<string, string>;
}

/** Why a call is not believed; the sender sees `reason`, so it holds no secret. */
export interface Refusal {
  readonly ok: false;
  readonly reason:
    | "signature_missing"
    | "signature_malformed"
    | "signature_stale"
    | "signature_mismatch";
  /** For the log: which check failed, where `reason` stands for many. Never what a call holds. */
  readonly detail?: string;
}
export type Verdict = { readonly ok: true; readonly verdict: string } | Refusal;

/**
 * The keys `verify` needs cannot be fetched now: the endpoint answers 503, the call comes again.
 */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
  constructor(url: string, options?: ErrorOptions) {
    super(`The keys at ${url} cannot be had`, options);
  }
}

/** What the endpoint needs to know of a body before it seals it. */
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
  | {
      readonly outcome: "facts";
      readonly facts: readonly DecodedFact[];
      /**
       * The store that sold this and may report it itself: where the workspace has an integration
       * of that provider, the event is kept but not booked (`definitions.md`, Providers: mirrored).
       */
      readonly mirrorOf?: ProviderToken;
      /**
       * The provider's own sandbox flag where only its API reports it (Google): decides the
       * environment of these facts, as `Heading.sandbox` does where the body reports it.
       */
      readonly sandbox?: boolean;
    }
  | { readonly outcome: "ignored"; readonly why: string }
  | { readonly outcome: "rejected"; readonly reason: string; readonly detail: string };

/**
 * An object this event reports whole and later events only name, like a discount by its id. Kept
 * outside the vault: `object` is JSON with what decoding needs and nothing personal.
 */
export interface KeptObject {
  readonly id: string;
  /** ms since 1970; the newest telling counts. */
  readonly reportedAt: number;
  /** Ids of further kept objects it only names. */
  readonly refers: readonly string[];
  readonly object: unknown;
  /**
   * Its id was chosen by the merchant, so that it names other things in other accounts: known only
   * to what the same integration sends.
   */
  readonly ownId?: true;
  /**
   * Its fields join those kept under this id, of which none is ever replaced: what several events
   * report about one thing, in any order.
   */
  readonly merges?: true;
  /** No event is rejected for want of it: it only corrects what is read without it. */
  readonly corrects?: true;
}

/** Whom an event names, in the provider's words; kept sealed and shown to members only. */
export interface NamedCustomer {
  /** As the event's facts name the account. */
  readonly account: string;
  /** The provider's own id; null where the account is called by something else. */
  readonly id: string | null;
  readonly name: string | null;
  readonly email: string | null;
  /** When the provider said so, ms since 1970: the newest counts. */
  readonly at: number;
  /** Said of a payment, such as the name on a card: it fills in what nothing else says. */
  readonly ofPayment?: true;
  /** Whose customer it is, where one account of the provider has several merchants. */
  readonly merchant?: string | null;
}

/** One GET of the provider's API, whose answer decoding requires or can use. */
export interface Question {
  /** Path and query below the API's base URL; also its name among the answers. */
  readonly path: string;
  /**
   * `required`: without an answer the event is rejected as `enrichment_unavailable`, to be
   * replayed. `optional`: without one it is decoded all the same (a product's name).
   */
  readonly importance: "required" | "optional";
  /**
   * How long the answer to the same path may serve further events, in ms; 0 for what changes with
   * every event. Every answer is kept, sealed, with the event it was requested for, so that a
   * replay reads the same.
   */
  readonly freshForMs: number;
  /**
   * The answer is the same for every event (a product's name) and was published with the first one:
   * while it is fresh, no other event asks for it. A customer's country, in contrast, is added to
   * each payment.
   */
  readonly sameForAll?: true;
  /** Sent with it: whose object the path names (Stripe's connected accounts). */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is known beside the body when it is decoded. */
export interface Known {
  /** Kept objects by id (`keeps`, `needs`). */
  readonly kept: ReadonlyMap<string, unknown>;
  /**
   * Parsed JSON by the path of its question. `null`: the API has no such thing. Absent: not asked,
   * or not to be had.
   */
  readonly answers: ReadonlyMap<string, unknown>;
  /** The event's own id as the endpoint read it, also from a header the body does not repeat. */
  readonly nativeId?: string;
  /**
   * When the endpoint took it, or it was replayed, ms since 1970: nothing is dated far after it.
   */
  readonly receivedAt?: number;
  /**
   * When the endpoint took it first, ms since 1970: the date of what the provider does not date.
   */
  readonly firstReceivedAt?: number;
  /** Of the call, where it is known: how far ahead of its receipt it may be dated. */
  readonly environment?: Environment;
}

export const nothingKnown: Known = { kept: new Map(), answers: new Map() };

/** How the provider's API is reached; left out where nothing is ever asked. */
export interface ProviderApi<Credentials> {
  /** Scheme and host; a setting `<TOKEN>_API_URL` replaces it. */
  baseUrl(credentials: Credentials): string;
  /** Whether anything may be asked with these credentials: an API key is optional. */
  allowsCalls(credentials: Credentials): boolean;
  /**
   * The headers of one call, and how long they may be used again, in ms since 1970; null when the
   * credentials allow no calls. `post` sends a form and returns the parsed JSON, for OAuth.
   */
  authorize(
    credentials: Credentials,
    now: number,
    post: (url: string, form: Readonly<Record<string, string>>) => Promise<unknown>,
  ): Promise<{ readonly headers: Record<string, string>; readonly until: number } | null>;
  /** What the provider allows one account, or a careful guess below it. */
  readonly requestsPerSecond: number;
  /** It counts the calls of an address: all integrations of a process share that number. */
  readonly limitsAddress?: true;
  /** How long to make no calls, as the headers of any answer say: so many ms; null: go on. */
  readonly restMsOf?: (headers: Pick<globalThis.Headers, "get">) => number | null;
  /** What an answer without success says, where that is more than its status says; else null. */
  readonly meaningOf?: (status: number, text: string) => FailureMeaning | null;
}

/** How a store's reports are fetched from its API, given credentials for it: optional ones. */
export interface FetchedReports<Credentials> {
  readonly api: ProviderApi<Credentials>;
  readonly kinds: readonly ReportKind[];
  /**
   * @param download one path of the API; null: there is no such thing. What it throws is the
   *   caller's
   * @returns the files that the report of a month has, none where the store has none; a text: why
   *   there is no telling
   */
  files(
    of: ReportOf,
    credentials: Credentials,
    download: Download,
  ): Promise<readonly Buffer[] | string>;
}
export type Download = (path: string) => Promise<Buffer | null>;

/** There is no such thing, or the API has trouble now, or it will not answer this. */
export type FailureMeaning = "absent" | "trouble" | "refused";

/** How a provider's API makes the webhook endpoint itself. Pure: the caller makes the call. */
export interface EndpointMaker<Credentials> {
  /** Scheme and host; a setting `<TOKEN>_API_URL` replaces it. */
  readonly baseUrl: string;
  /** Which environment an API key is for; null where the key does not show it. */
  environmentOf(key: string): Environment | null;
  /** A POST of a form. @param url of the webhook */
  request(
    url: string,
    key: string,
  ): {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly form: URLSearchParams;
  };
  /** What the integration is given; null: the answer holds no secret. */
  credentialsOf(answer: unknown, key: string): Credentials | null;
  /** The provider's words for a person; null: it gave none. */
  refusalOf(answer: unknown): string | null;
}

/** Event types that a figure rests on. Any of them is enough. */
export interface NeededTypes {
  readonly for: NeededEvents["for"];
  readonly types: readonly string[];
  /**
   * What proves that they should have come. Left out where nothing does: they come only when
   * something happens, which in a young account it may not have.
   */
  readonly proof?: {
    /** These types report what was bought, and an hour later nobody has paid for it. */
    readonly purchasesIn?: readonly string[];
    /** There has been MRR for so many days. */
    readonly mrrDays?: number;
    /** Payments of subscriptions came. */
    readonly subscriptionsSold?: true;
  };
}

/** @typeParam Signer what signs a delivery, where the credentials only verify (a private key) */
export interface Provider<Credentials = unknown, Signer = Credentials> {
  readonly token: ProviderToken;
  /**
   * One integration takes live and sandbox events alike, and they say which they are: it reports
   * both, whichever environment it was made for.
   */
  readonly reportsBothEnvironments?: true;
  /**
   * Its test and live endpoints have secrets of their own: an event whose sandbox flag contradicts
   * its integration is a reject (`environment_mismatch`), so that a test secret books nothing live.
   */
  readonly separatesEnvironments?: true;
  /** What an integration must be given; unknown fields are refused. */
  readonly credentials: z.ZodType<Credentials>;
  /** Credential fields a person has to look up, each with where to find it. */
  readonly credentialHelp: Readonly<Record<string, string>>;
  /**
   * Credential fields made when they are left out, and shown once: each from 32 random bytes.
   */
  readonly makes?: Readonly<Record<string, (random: Buffer) => string>>;
  /** Provider event types a merchant should subscribe the webhook to. */
  readonly subscribeTo: readonly string[];
  /** Of those, the ones without which figures are not whole. */
  readonly neededTypes: readonly NeededTypes[];
  /**
   * True when the untouched bytes were sent by the provider. Constant time in the digests; several
   * signatures and several credentials (a rotation) may be given and any may match.
   * @param now ms since 1970, for the replay window
   * @throws KeysUnavailable where keys are fetched
   */
  verify(
    delivery: Delivery,
    credentials: readonly Credentials[],
    now: number,
  ): Verdict | Promise<Verdict>;
  /**
   * A genuine delivery of what `body` reports, for tests, the demo and the load generator. Where
   * the signature is part of the body (Apple), the delivery's body wraps the one given.
   */
  sign(body: Buffer, signer: Signer, now: number): Signed;
  /** How a body is written; JSON by default. A form becomes an object of strings. */
  readonly bodyType?: "form";
  /**
   * Of a provider that writes JSON: whether a form is a call of another product of the provider,
   * and what its sender is answered (415).
   */
  readonly unsupportedForm?: (
    form: unknown,
  ) => { readonly code: string; readonly message: string } | null;
  /**
   * @param body the parsed body
   * @param headers of the delivery; absent where the body came by the ingest endpoint
   * @param receivedAt ms since 1970, about; only for what no body distinguishes (Gumroad's refunds)
   * @returns null when it is no event of this provider
   */
  heading(body: unknown, headers?: Headers, receivedAt?: number): Heading | null;
  /** Objects to keep for later events; left out where every event is whole by itself. */
  readonly keeps?: (body: unknown) => readonly KeptObject[];
  /**
   * The same for what an answer reports, or what is kept only as an answer has it: called before
   * decoding, with what was answered. Of this very event `known.kept` has nothing yet.
   */
  readonly keepsAnswered?: (body: unknown, known: Known) => readonly KeptObject[];
  /**
   * Ids of kept objects the body names without telling them; with `known`, in each round of
   * questions, also those only the answers name.
   */
  readonly needs?: (body: unknown, known?: Known) => readonly string[];
  readonly api?: ProviderApi<Credentials>;
  /**
   * Questions the body leaves open, given what is answered so far: asked again until it has none
   * that are not answered or found unanswerable, at most `limits.enrichmentRoundsMax` times.
   */
  readonly asks?: (body: unknown, known: Known) => readonly Question[];
  /** Left out where a person has to add the endpoint at the provider. */
  readonly endpoint?: EndpointMaker<Credentials>;
  /** How its history is read through its API; left out where it cannot be. */
  readonly backfill?: Backfill<Credentials>;
  /**
   * Why its months are not compared with a list of its own, and what brings a missing event
   * instead: a sentence, for a person. Left out: they are.
   */
  readonly notReconciled?: string;
  /** How its payouts to the bank are read; left out where it lists none. */
  readonly payouts?: Payouts;
  /** How its history is read from a file that a person downloads; left out where it cannot be. */
  readonly historyExport?: HistoryExport;
  /** Which of its reports are read as sums of a month; left out where it has none. */
  readonly reports?: StoreReports<Credentials>;
  /** Left out where they are uploaded only. */
  readonly fetchedReports?: FetchedReports<Credentials>;
  /** Left out where one event reports both what was bought and its payment. */
  readonly paymentLookup?: PaymentLookup;
  /** Reads the provider's own whole body. Never throws on data. */
  decode(body: unknown, known?: Known): Decoded;
  /**
   * Whom the body names, of events that `decode` does not reject; left out where the provider
   * reports nobody (the app stores). Never throws on data.
   */
  readonly customers?: (body: unknown, known: Known) => readonly NamedCustomer[];
  /** The customer's page at the provider; left out where no address follows from the id. */
  readonly customerUrl?: (
    customer: { readonly id: string; readonly merchant: string | null },
    environment: Environment,
  ) => string;
  /**
   * Native types accepted in the flat form B, with the form A meaning each has
   * (`definitions.md`, Ingest).
   */
  readonly flatTypes: Readonly<Record<string, EventRecord["event_type"]>>;
  /**
   * What stands before the provider's id of a payment, where it numbers several things apart: by
   * flat type, so that a flat event means the payment a webhook reports.
   */
  readonly flatPayments?: Readonly<Record<string, string>>;
}
