/**
 * The records on the log's topics: the contract between the processes and with data teams.
 * Field names are snake_case because consumers outside TypeScript read them too.
 */
import { type Avro, codec, fieldsReader } from "./avro.js";
import { selfDescribing } from "./single-object.js";

const timestamp = { type: "long", logicalType: "timestamp-millis" } as const;
const environment = { type: "enum", name: "Environment", symbols: ["live", "test"] } as const;

/** Topic names, in the order an event travels. */
export const topics = {
  raw: "revenue.raw",
  incomplete: "revenue.incomplete",
  facts: "revenue.facts",
  rejected: "revenue.rejected",
  transactions: "revenue.transactions",
  movements: "revenue.mrr-movements",
} as const;
export type Topic = (typeof topics)[keyof typeof topics];

/**
 * What the endpoint wrote down about a call, bound to the sealed bytes as associated data: changing
 * any field breaks the seal.
 */
const rawEventMetaSchema = {
  type: "record",
  name: "RawEventMeta",
  fields: [
    { name: "event_id", type: "string", doc: "evt_norm_…, the same for every redelivery" },
    { name: "workspace", type: "string" },
    { name: "environment", type: environment },
    { name: "provider", type: "string" },
    { name: "integration", type: ["null", "string"], doc: "null for calls with an API key" },
    {
      name: "form",
      type: {
        type: "enum",
        name: "Form",
        symbols: ["webhook", "record", "native", "history"],
      },
      doc: "webhook; record = ingest form A; native = ingest form B; history = a backfill read it",
    },
    { name: "native_id", type: "string", doc: "the provider's own event id, or the drawn one" },
    { name: "native_type", type: "string" },
    { name: "received_at", type: timestamp, doc: "the recorded clock of all that follows" },
    { name: "verdict", type: "string", doc: "what was checked: signature, api_key, url, api" },
    { name: "rates_edition", type: "int", doc: "the newest edition of rates at the door" },
    {
      name: "first_received_at",
      type: ["null", timestamp],
      default: null,
      doc: "of a replay, or a call taken up again: dates what reports no date of its own",
    },
  ],
} as const;
export type RawEventMeta = Avro<typeof rawEventMetaSchema>;

const rawEventSchema = {
  type: "record",
  name: "RawEvent",
  fields: [
    { name: "meta", type: rawEventMetaSchema },
    { name: "sealed", type: "bytes", doc: "the untouched body, AES-256-GCM, see vault/vault" },
  ],
} as const;
export type RawEvent = Avro<typeof rawEventSchema>;

/** A raw event whose provider must be asked before it, or all of it, can be booked. */
const incompleteSchema = {
  type: "record",
  name: "Incomplete",
  fields: [
    {
      name: "step",
      type: { type: "enum", name: "EnrichmentStep", symbols: ["complete", "enrich"] },
      doc: "complete: nothing of it is booked yet; enrich: all but what the answers add is",
    },
    { name: "partition", type: "int", doc: "where the raw event lies on its topic" },
    { name: "offset", type: "long" },
    { name: "received_at", type: timestamp, doc: "of the raw event" },
    { name: "raw", type: "bytes", doc: "the raw record as it lies there, sealed" },
  ],
} as const;

/** One product of a payment; `weight` splits the payment and may be negative (a credited line). */
const lineSchema = {
  type: "record",
  name: "Line",
  fields: [
    { name: "external_id", type: "string", doc: "SKU at the provider; empty when not reported" },
    { name: "weight", type: "long", doc: "net line amount, minor units of the payment" },
    {
      name: "item",
      type: "string",
      default: "",
      doc: "the provider's id of the line; a refund may name only this of a line of its payment",
    },
  ],
} as const;
export type Line = Avro<typeof lineSchema>;

const moneyFields = [
  { name: "amount", type: "long", doc: "minor units, gross, positive" },
  { name: "currency", type: "string", doc: "ISO 4217, upper case" },
] as const;

const paymentType = {
  type: "enum",
  name: "PaymentType",
  symbols: ["subscription", "one_time"],
} as const;

/** What a purchase reports a payment; a payment may report it itself. */
const saleFields = [
  { name: "account", type: ["null", "string"] },
  { name: "country", type: ["null", "string"], doc: "ISO 3166-1 alpha-2" },
  { name: "type", type: ["null", paymentType] },
  { name: "tax", type: ["null", "long"], doc: "minor units, inside amount" },
  { name: "fee", type: ["null", "long"], doc: "minor units, kept by the provider" },
  { name: "lines", type: { type: "array", items: lineSchema } },
] as const;

/**
 * Money from outside a provider is reported record by record; what reports all of it counts alone.
 */
const recordField = {
  name: "record",
  type: "string",
  default: "",
  doc: "of several that make up the payment: their amounts add up; empty: reported as a whole",
} as const;

/**
 * Money came in. The newest reading (happened_at, then event id) of a payment counts; its time and
 * rate stay those of the reading received first.
 */
const paymentSchema = {
  type: "record",
  name: "Payment",
  fields: [
    { name: "payment", type: "string" },
    { name: "at", type: timestamp, doc: "when it was paid" },
    ...moneyFields,
    ...saleFields,
    recordField,
    {
      name: "invoiced",
      type: "boolean",
      default: false,
      doc: "an invoice, which comes by itself, reports what was bought",
    },
  ],
} as const;

/** What was bought (an invoice, a session); money only once it is linked to a payment. */
const purchaseSchema = {
  type: "record",
  name: "Purchase",
  fields: [
    { name: "purchase", type: "string" },
    ...saleFields,
    {
      name: "total",
      type: ["null", "long"],
      default: null,
      doc: "minor units, what its payments come to; null: one payment pays it whole",
    },
  ],
} as const;

const partSchema = {
  type: "record",
  name: "Part",
  fields: [
    { name: "amount", type: "long", doc: "minor units of the purchase" },
    { name: "at", type: timestamp, doc: "when it was paid: the parts of a purchase in order" },
    recordField,
  ],
} as const;

/** This payment paid that purchase, or a part of it. Sent to both sides. */
const linkSchema = {
  type: "record",
  name: "Link",
  fields: [
    { name: "payment", type: "string" },
    { name: "purchase", type: "string" },
    {
      name: "as_of",
      type: ["null", timestamp],
      default: null,
      doc: "the reading of the purchase that was valid then; null: its newest",
    },
    {
      name: "part",
      type: ["null", partSchema],
      default: null,
      doc: "how much of it; null: not reported, taken for the whole",
    },
  ],
} as const;

/**
 * One refund. The newest reading counts, at the earliest time any reading reports; `failed_at`
 * gives the money back to the merchant.
 */
const refundSchema = {
  type: "record",
  name: "Refund",
  fields: [
    { name: "refund", type: "string" },
    { name: "payment", type: ["null", "string"], doc: "null: a refund that names no sale" },
    { name: "at", type: timestamp },
    ...moneyFields,
    { name: "failed_at", type: ["null", timestamp] },
    { name: "account", type: ["null", "string"] },
    { name: "country", type: ["null", "string"] },
    { name: "lines", type: { type: "array", items: lineSchema }, doc: "empty: pro rata" },
    {
      name: "tax",
      type: ["null", "long"],
      default: null,
      doc: "minor units, inside amount; null: not reported, as much of the tax as of the sale",
    },
    {
      name: "purchase",
      type: ["null", "string"],
      default: null,
      doc: "what it is returned for, of which no payment is known: its payments have parts of it",
    },
  ],
} as const;

/** All that was refunded of a payment up to `at`, where single refunds are not reported. */
const refundTotalSchema = {
  type: "record",
  name: "RefundTotal",
  fields: [
    { name: "payment", type: "string" },
    { name: "at", type: timestamp },
    ...moneyFields,
    {
      name: "witness",
      type: "string",
      default: "",
      doc: "what keeps the total, where several do (an order and its invoice): the greatest counts",
    },
  ],
} as const;

/**
 * The state of a dispute. Times of the money win over a notice's, those over an outcome's. A return
 * under an id of its own (never withdrawn) belongs to the earliest dispute still open then.
 */
const disputeSchema = {
  type: "record",
  name: "Dispute",
  fields: [
    { name: "dispute", type: "string" },
    { name: "payment", type: "string" },
    ...moneyFields,
    { name: "withdrawn_at", type: ["null", timestamp] },
    { name: "returned_at", type: ["null", timestamp] },
    {
      name: "reported_by",
      type: { type: "enum", name: "ReportedBy", symbols: ["outcome", "notice", "money"] },
      doc: "whose times they are: of the money itself, of its notice, of the dispute's end",
    },
    {
      name: "returned_amount",
      type: ["null", "long"],
      default: null,
      doc: "minor units, of amount, at returned_at; null: all of it",
    },
    {
      name: "lines",
      type: { type: "array", items: lineSchema },
      default: [],
      doc: "those it names; empty: pro rata",
    },
    {
      name: "tax",
      type: ["null", "long"],
      default: null,
      doc: "minor units, inside amount; null: not reported, as much of the tax as of the sale",
    },
  ],
} as const;

const itemSchema = {
  type: "record",
  name: "Item",
  fields: [
    { name: "item", type: "string", doc: "stable while the item exists; the rate is held on it" },
    { name: "external_id", type: "string" },
    {
      name: "monthly_numerator",
      type: "long",
      doc: "what the customer pays a month after recurring discounts, exactly, as a fraction",
    },
    { name: "monthly_denominator", type: "long", doc: "of one minor unit; positive" },
  ],
} as const;
export type Item = Avro<typeof itemSchema>;

/**
 * What a subscription is worth from `steps[0].at` on. Further steps are announced ends of
 * discounts: each comes true by itself unless another change of the subscription comes first.
 */
const subscriptionSchema = {
  type: "record",
  name: "Subscription",
  fields: [
    { name: "subscription", type: "string" },
    { name: "account", type: "string" },
    { name: "country", type: ["null", "string"] },
    { name: "currency", type: "string", doc: "empty when nothing is priced" },
    {
      name: "phase",
      type: { type: "enum", name: "Phase", symbols: ["expired", "started", "changed", "ended"] },
    },
    {
      name: "steps",
      type: {
        type: "array",
        items: {
          type: "record",
          name: "Step",
          fields: [
            { name: "at", type: timestamp },
            { name: "items", type: { type: "array", items: itemSchema } },
          ],
        },
      },
    },
  ],
} as const;

/**
 * One side of a form A subscription without an id. `pool` names all that could be partners:
 * provider, product, amount, currency. The oldest open start is ended by the next churn.
 */
const unidentifiedSchema = {
  type: "record",
  name: "Unidentified",
  fields: [
    { name: "pool", type: "string" },
    { name: "side", type: { type: "enum", name: "Side", symbols: ["start", "churn"] } },
    { name: "at", type: timestamp },
    { name: "subscription", type: "string", doc: "of a start: what its churn will end" },
    { name: "account", type: "string" },
  ],
} as const;

/** Where a customer is. Of an account the earliest (happened_at, then event id) counts. */
const customerSchema = {
  type: "record",
  name: "Customer",
  fields: [
    { name: "account", type: "string" },
    { name: "country", type: "string", doc: "ISO 3166-1 alpha-2" },
  ],
} as const;

/** A SKU was named. */
const skuSchema = {
  type: "record",
  name: "Sku",
  fields: [
    { name: "external_id", type: "string" },
    { name: "name", type: "string" },
  ],
} as const;

/** How an amount of this fact becomes base currency; see schemas/rates. */
const quoteSchema = {
  type: "record",
  name: "Quote",
  fields: [
    { name: "currency", type: "string" },
    { name: "base_currency", type: "string" },
    { name: "rate", type: "string", doc: "base per original, decimal, 10 significant digits" },
    { name: "date", type: "string", doc: "YYYY-MM-DD the quote was published" },
    { name: "source", type: "string", doc: "same, ecb, wide" },
    { name: "edition", type: "int" },
  ],
} as const;
export type Quote = Avro<typeof quoteSchema>;

const factSchema = {
  type: "record",
  name: "Fact",
  fields: [
    {
      name: "fact_id",
      type: "string",
      doc: "event id and position: one fact, however often reported",
    },
    { name: "event_id", type: "string" },
    { name: "workspace", type: "string" },
    { name: "environment", type: environment },
    { name: "provider", type: "string" },
    { name: "partition", type: "int", doc: "where the raw event lies on its topic" },
    { name: "offset", type: "long" },
    { name: "native_type", type: "string" },
    { name: "received_at", type: timestamp, doc: "recorded clock" },
    { name: "happened_at", type: timestamp, doc: "orders the readings of one thing" },
    { name: "base_currency", type: "string" },
    { name: "replay", type: "boolean", doc: "publish again even when nothing is new" },
    { name: "backfill", type: "boolean", doc: "history: not for the live stream" },
    { name: "quote", type: ["null", quoteSchema] },
    {
      name: "body",
      type: [
        paymentSchema,
        purchaseSchema,
        linkSchema,
        refundSchema,
        refundTotalSchema,
        disputeSchema,
        subscriptionSchema,
        unidentifiedSchema,
        skuSchema,
        customerSchema,
      ],
    },
  ],
} as const;
export type Fact = Avro<typeof factSchema>;
export type FactBody = Fact["body"];
export type Environment = Avro<typeof environment>;

/**
 * The public records. Data teams read them, so their text, notes included, is released as a version
 * (schemas/released) and never changes: a change is a new version, which every other one can read.
 * An enumeration that may grow has `unknown` for readers of today; nobody writes it.
 */
export const transactionSchema = {
  type: "record",
  name: "Transaction",
  namespace: "revenue",
  doc: "One version of a payment as a customer sees it. Of an id the greatest version counts.",
  fields: [
    { name: "id", type: "string", doc: "tx_norm_…, the same in every version" },
    { name: "version", type: "int", doc: "grows with what is known; the greatest is the truth" },
    { name: "workspace", type: "string" },
    { name: "environment", type: environment },
    { name: "provider", type: "string" },
    { name: "external_id", type: "string", doc: "SKU of the largest line; empty when unknown" },
    { name: "product_name", type: "string", doc: "as known when published" },
    { name: "gross_amount", type: "long", doc: "minor units of original_currency, above 0" },
    { name: "original_currency", type: "string", doc: "ISO 4217" },
    {
      name: "normalized_amount",
      type: "long",
      doc: "gross_amount in minor units of base_currency",
    },
    { name: "base_currency", type: "string", doc: "ISO 4217, of the workspace" },
    { name: "fx_rate", type: "string", doc: "base per original, decimal" },
    { name: "fx_date", type: "string", doc: "YYYY-MM-DD the rate was published" },
    { name: "fx_source", type: "string", doc: "same, ecb or wide" },
    {
      name: "refunded_amount",
      type: "long",
      doc: "of gross_amount, minor units of original_currency",
    },
    {
      name: "tax_amount",
      type: ["null", "long"],
      doc: "in gross_amount, minor units of original_currency; null when not reported",
    },
    {
      name: "fee_amount",
      type: ["null", "long"],
      doc: "kept by the provider, minor units of original_currency; null when not reported",
    },
    { name: "customer_country", type: "string", doc: "ISO 3166-1 alpha-2; ZZ when not reported" },
    { name: "account", type: "string", doc: "keyed hash of the customer; empty for a guest" },
    {
      name: "type",
      type: {
        type: "enum",
        name: "TransactionType",
        symbols: ["subscription", "one_time", "refund", "unknown"],
        default: "unknown",
      },
      doc: "refund: one that names no sale; gross_amount is what was given back",
    },
    {
      name: "status",
      type: {
        type: "enum",
        name: "TransactionStatus",
        symbols: ["succeeded", "refunded", "disputed", "unknown"],
        default: "unknown",
      },
      doc: "refunded: wholly; disputed: until it is won",
    },
    { name: "timestamp", type: timestamp, doc: "when it was paid" },
    { name: "recorded_at", type: timestamp, doc: "when event_id was received" },
    { name: "event_id", type: "string", doc: "the raw event that made this version" },
    { name: "backfill", type: "boolean", doc: "read from the provider's history" },
  ],
} as const;
export type TransactionRecord = Avro<typeof transactionSchema>;

export const movementSchema = {
  type: "record",
  name: "MrrMovement",
  namespace: "revenue",
  doc: "A difference of one account's MRR. Additive: count each id once and sum.",
  fields: [
    { name: "id", type: "string", doc: "mov_norm_…" },
    { name: "workspace", type: "string" },
    { name: "environment", type: environment },
    { name: "provider", type: "string" },
    { name: "account", type: "string", doc: "keyed hash of the customer" },
    { name: "subscription", type: "string" },
    { name: "external_id", type: "string", doc: "SKU; empty when unknown" },
    { name: "currency", type: "string", doc: "original currency of the price" },
    { name: "country", type: "string", doc: "ISO 3166-1 alpha-2; ZZ when not reported" },
    {
      name: "kind",
      type: {
        type: "enum",
        name: "MovementKind",
        symbols: ["new", "expansion", "contraction", "churn", "reactivation", "unknown"],
        default: "unknown",
      },
    },
    { name: "at", type: timestamp, doc: "when MRR changed" },
    {
      name: "mrr",
      type: "string",
      doc: "signed decimal text, major units of base_currency, up to 6 places",
    },
    { name: "base_currency", type: "string", doc: "ISO 4217, of the workspace" },
    { name: "vintage", type: "string", doc: "YYYY-MM, month of the account's first MRR" },
    { name: "recorded_at", type: timestamp, doc: "when event_id was received" },
    { name: "event_id", type: "string", doc: "the raw event that caused it" },
  ],
} as const;
export type MovementRecord = Avro<typeof movementSchema>;

const rejectSchema = {
  type: "record",
  name: "Reject",
  namespace: "revenue",
  fields: [
    { name: "event_id", type: "string" },
    { name: "workspace", type: "string" },
    { name: "environment", type: environment },
    { name: "provider", type: "string" },
    { name: "native_type", type: "string" },
    { name: "received_at", type: timestamp },
    { name: "step", type: "string" },
    { name: "reason", type: "string", doc: "a stable word" },
    { name: "detail", type: "string", doc: "a sentence for a person; no payload" },
    { name: "partition", type: "int" },
    { name: "offset", type: "string" },
  ],
} as const;
export type Reject = Avro<typeof rejectSchema>;

export const rawEventMetaCodec = codec(rawEventMetaSchema);
export const rawEventCodec = codec(rawEventSchema);
export const readRawEventMeta = fieldsReader(rawEventCodec, "meta");
export const factCodec = codec(factSchema);
export const transactionCodec = codec(transactionSchema);
export const movementCodec = codec(movementSchema);
export const rejectCodec = codec(rejectSchema);

/** As they lie on the log, where another version of the service may meet them. */
export const factRecords = selfDescribing(factCodec);
/** Only when a fact's event was received, and whose it is. */
export const factReceipts = selfDescribing({
  ...factCodec,
  decode: fieldsReader(factCodec, "workspace", "received_at"),
});
export const incompleteRecords = selfDescribing(codec(incompleteSchema));
