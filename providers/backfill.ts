/**
 * How a provider's history is read: lists of its API, page by page, whose objects are reported as
 * the events its webhook would have sent. The next provider's backfill is one file in its folder.
 */

/** How the payment of a purchase is asked for that no event reported. */
export interface PaymentLookup {
  /** Native types that report what was bought by a payment which another type reports. */
  readonly purchasesIn: readonly string[];
  /** Paths still to ask, given what is answered (parsed JSON by path); none: all is known. */
  asks(unpaid: UnpaidPurchase, answers: ReadonlyMap<string, unknown>): readonly string[];
  /**
   * The same events a backfill reads, with the same ids.
   * @param asOf ms since 1970, surely before the answers were made
   */
  events(
    unpaid: UnpaidPurchase,
    answers: ReadonlyMap<string, unknown>,
    asOf: number,
  ): readonly HistoryEvent[];
}

/** As facts name them. */
export interface UnpaidPurchase {
  readonly purchase: string;
  /** Payments that it names and nothing reported. */
  readonly payments: readonly string[];
}

export interface Backfill<Credentials = unknown> {
  /** In the order they are read: what names things before what refers to them. */
  readonly lists: readonly HistoryList<Credentials>[];
  /** What the provider cannot report of the past: short sentences, for a person. */
  readonly missing: readonly string[];
  /** Read for a comparison only: money of disputes, and taxes. */
  readonly comparedBesides?: readonly HistoryList<Credentials>[];
  /** Shown beside ours, month by month. */
  readonly ownFigures?: readonly OwnFigure[];
  /** What a comparison with its lists cannot show: the same. */
  readonly notCompared?: readonly string[];
  /** Whether a list that says what was paid can have this payment; left out: any. */
  readonly canBeListed?: (payment: string) => boolean;
  /** Absent: the provider lists all there is. */
  readonly byIds?: {
    /** Which ids may be uploaded, for a person. */
    readonly ids: string;
    /** Of so long before now all is listed without any. */
    readonly listedMs: number;
  };
}

export interface HistoryList<Credentials = unknown> {
  /** `charges`; the position of a backfill is kept under it. */
  readonly name: string;
  /** It says what was paid: read once more at the end, and compared with what is booked. */
  readonly reportsPayments: boolean;
  /**
   * Set when the provider has no list: it is asked about each booked thing of these kinds, and
   * about each uploaded id. `after` is then never null (read it with `placeOf`), and the answer is
   * null when the provider does not know the id.
   */
  readonly ofEach?: readonly BookedKind[];
  /**
   * Path and query of one page.
   * @param after `next` of the page before; null for the first
   * @param credentials that ask for it: what they name may be all that is read
   */
  path(span: Span, after: string | null, credentials?: Credentials): string;
  /** Of a list that is asked for by POST: what is sent as JSON. */
  body?(span: Span): object;
  /**
   * @param asOf ms since 1970, surely before the answer was made: dates a state of which the
   *   provider does not say since when it is
   * @param span as the path asked for
   * @param after as the path asked for: where `next` does not follow from the answer alone
   * @param credentials as the path asked with
   */
  read(
    answer: unknown,
    asOf: number,
    span: Span,
    after?: string | null,
    credentials?: Credentials,
  ): HistoryPage | null;
}

/** A figure of the provider's own dashboard, which its API tells day by day. */
export interface OwnFigure {
  readonly figure: "mrr" | "revenue" | "refunds" | "chargebacks";
  /** As a sentence calls it, with the permission that it needs. */
  readonly name: string;
  /** @param days whole ones in UTC; the end is exclusive */
  path(days: Span): string;
  /** Null: the answer is no such figure. */
  read(answer: unknown): ToldFigure | null;
  /** Why ours may be another though nothing is missing: a sentence, for a person. */
  readonly why: string;
}

/** Minor units of `currency`; null: a number of things. */
export interface ToldFigure {
  readonly currency: string | null;
  readonly amount: bigint;
  /** The end of the last day in it, ms since 1970; null: no day is in it yet. */
  readonly through: number | null;
}

/** What our own books name by the provider's id of it. */
export type BookedKind = "subscription" | "one_time_payment";

/** Where a list stands that is asked about each id: `<id>`, or `<id> <next>` on later pages. */
export function placeOf(after: string | null): {
  readonly id: string;
  readonly next: string | null;
} {
  const [, id = "", next = null] = /^(\S*)(?: (.*))?$/s.exec(after ?? "") ?? [];
  return { id, next };
}

/** ms since 1970, both inclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What has no date (NaN) is read. */
export function isWithin(at: number, { from, to }: Span): boolean {
  return !(at < from || at > to);
}

/** Of objects that were not asked for by their dates. */
export const anyTime: Span = { from: 0, to: Number.POSITIVE_INFINITY };

/** Null instead: the answer is no page of this list. */
export interface HistoryPage {
  /** Objects on the page. */
  readonly objects: number;
  readonly events: readonly HistoryEvent[];
  /** What the list says was paid, for the comparison at the end; empty in most lists. */
  readonly payments: readonly ListedPayment[];
  /** The same of taxes, where they are not listed with the payments. */
  readonly taxes?: readonly ListedTax[];
  /** Null on the last page. */
  readonly next: string | null;
  /**
   * What the list has come through with this page, where it is in order of dates: for an estimate
   * of the time that is left.
   */
  readonly through?: Span | null;
}

/** The page of a thing that is not there. */
export const nothingListed: HistoryPage = { objects: 0, events: [], payments: [], next: null };

export interface HistoryEvent {
  /**
   * The same for the same state of the same object, so that reading it again changes nothing, and
   * another when it changed. Of a state that may come back after another one: another for each
   * reading, or its return would be taken for what was read first.
   */
  readonly nativeId: string;
  /** The provider's own event, which its webhook carries too: one event, whichever way it came. */
  readonly isProviders?: true;
  /** The body of an event, as `decode` reads it. */
  readonly body: unknown;
}

/** A payment, or money of a dispute about one. Minor units of `currency`. */
export interface ListedPayment {
  /** As in `Payment` facts. */
  readonly payment: string;
  /**
   * The provider's id of a dispute, or of its reversal: one entry each time money moves. `amount`
   * is what the dispute took, `refunded` what came back; one of the two is 0.
   */
  readonly dispute?: string;
  readonly at: number;
  readonly currency: string;
  readonly amount: bigint;
  readonly refunded: bigint;
  /** What the provider kept of it, and the tax in it; null or left out: nobody reports it. */
  readonly fee?: bigint | null;
  readonly tax?: bigint | null;
}

/** ISO minor units of the payment's currency. */
export interface ListedTax {
  readonly payment: string;
  /** What was bought: a payment may be for several, and its tax is that of all of them. */
  readonly purchase: string;
  /** Null: it is not listed how much of the tax the payment paid. */
  readonly tax: bigint | null;
}

/**
 * How a provider's history is read from a file that a person downloads: a line is a purchase, and
 * is reported as the events its webhook would have sent. The next provider's is one file.
 */
export interface HistoryExport {
  /** What a line is: a backfill counts them under it. */
  readonly name: string;
  /** Which file, for a person. */
  readonly file: string;
  /** What the file cannot report of the past: short sentences, for a person. */
  readonly missing: readonly string[];
  /** As its first line names them; cells of other columns are dropped where they are read. */
  readonly columns: { readonly required: readonly string[]; readonly optional: readonly string[] };
  /** @returns a text where it cannot be read, which says why, never what is in it */
  lineOf(cells: Cells): ExportedLine | string;
}

export interface ExportedLine {
  readonly place: ExportPlace;
  read(beside: Beside): Pick<HistoryPage, "events" | "payments">;
}

/** Of one line by column; empty ones are left out. */
export type Cells = ReadonlyMap<string, string>;

/** Where a line belongs among the others; times are ms since 1970. */
export interface ExportPlace {
  /** The provider's id of the subscription, or of the purchase itself. */
  readonly thing: string;
  /** When the purchase or its period began. */
  readonly at: number;
  /** As in `Payment` facts. One of its lines counts, the one that changed last. */
  readonly purchase: string;
  /** When the provider changed the line last: the file was written later. */
  readonly revision: number;
  readonly isSandbox: boolean;
}

/** What a line does not say by itself; ms since 1970. */
export interface Beside {
  /** When the next purchase of the same thing began; null: the file has none. */
  readonly nextAt: number | null;
  /** When the file was written, at the earliest. */
  readonly asOf: number;
}
