/**
 * The records on the log's topics: the contract between the processes and with data teams.
 * Field names are snake_case because consumers outside TypeScript read them too.
 */
import {
  type Avro,
  codec,
  defaulted,
  enumOf,
  field,
  fieldsReader,
  listOf,
  openEnumOf,
  type Reader,
  readerOf,
  record,
  selfDescribing,
  withoutField,
  withoutRecord,
} from "./avro.js";
import { planIntervals } from "../money/plan-intervals.js";

const timestamp = { type: "long", logicalType: "timestamp-millis" } as const;
const environment = enumOf("Environment", ["live", "test"]);

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
const rawEventMetaSchema = record("RawEventMeta", [
  field("event_id", "string", "evt_norm_…, the same for every redelivery"),
  field("workspace", "string"),
  field("environment", environment),
  field("provider", "string"),
  field("integration", ["null", "string"], "null for calls with an API key"),
  // `record`: ingest form A; `native`: ingest form B; `history`: a backfill read it.
  field("form", enumOf("Form", ["webhook", "record", "native", "history"])),
  field("native_id", "string", "the provider's own event id, or the drawn one"),
  field("native_type", "string"),
  field("received_at", timestamp, "the recorded clock of all that follows"),
  field("verdict", "string", "what was checked: signature, api_key, url, api, export"),
  field("rates_edition", "int", "the newest edition of rates at the door"),
  // Of a replay, or a call taken up again: dates what reports no date of its own.
  defaulted("first_received_at", ["null", timestamp], null),
]);
export type RawEventMeta = Avro<typeof rawEventMetaSchema>;

const rawEventSchema = record("RawEvent", [
  field("meta", rawEventMetaSchema),
  field("sealed", "bytes", "the untouched body, AES-256-GCM, see stores/vault/vault"),
]);
export type RawEvent = Avro<typeof rawEventSchema>;

/** A raw event whose provider must be asked before it, or all of it, can be booked. */
const incompleteSchema = record("Incomplete", [
  // `complete`: nothing of it is booked yet; `enrich`: all but what the answers add is.
  field("step", enumOf("EnrichmentStep", ["complete", "enrich"])),
  field("partition", "int", "where the raw event lies on its topic"),
  field("offset", "long"),
  field("received_at", timestamp, "of the raw event"),
  field("raw", "bytes", "the raw record as it lies there, sealed"),
]);

/** One product of a payment; `weight` splits the payment and may be negative (a credited line). */
const lineSchema = record("Line", [
  field("external_id", "string", "SKU at the provider; empty when not reported"),
  field("weight", "long", "net line amount, minor units of the payment"),
  // The provider's id of the line; a refund may name only this of a line of its payment.
  defaulted("item", "string", ""),
]);
export type Line = Avro<typeof lineSchema>;

const moneyFields = [
  field("amount", "long", "minor units, gross, positive"),
  field("currency", "string", "ISO 4217, upper case"),
] as const;

const paymentType = enumOf("PaymentType", ["subscription", "one_time"]);

/** What a purchase reports a payment; a payment may report it itself. */
const saleFields = [
  field("account", ["null", "string"]),
  field("country", ["null", "string"], "ISO 3166-1 alpha-2"),
  field("type", ["null", paymentType]),
  field("tax", ["null", "long"], "minor units, inside amount"),
  field("fee", ["null", "long"], "minor units, kept by the provider"),
  field("lines", listOf(lineSchema)),
] as const;

/**
 * Of several records that make up a payment: their amounts add up. Empty: it is reported as a
 * whole, which counts alone.
 */
const recordField = defaulted("record", "string", "");

/**
 * Money came in. The newest reading (happened_at, then event id) of a payment counts; its time and
 * rate stay those of the reading received first.
 */
const paymentSchema = record("Payment", [
  field("payment", "string"),
  field("at", timestamp, "when it was paid"),
  ...moneyFields,
  ...saleFields,
  recordField,
  // An invoice, which comes by itself, reports what was bought.
  defaulted("invoiced", "boolean", false),
]);

/** What was bought (an invoice, a session); money only once it is linked to a payment. */
const purchaseSchema = record("Purchase", [
  field("purchase", "string"),
  ...saleFields,
  // Minor units, what its payments come to; null: one payment pays it whole.
  defaulted("total", ["null", "long"], null),
]);

const partSchema = record("Part", [
  field("amount", "long", "minor units of the purchase"),
  field("at", timestamp, "when it was paid: the parts of a purchase in order"),
  recordField,
]);

/** This payment paid that purchase, or a part of it. Sent to both sides. */
const linkSchema = record("Link", [
  field("payment", "string"),
  field("purchase", "string"),
  // The reading of the purchase that was valid then; null: its newest.
  defaulted("as_of", ["null", timestamp], null),
  // How much of it; null: not reported, taken for the whole.
  defaulted("part", ["null", partSchema], null),
]);

/**
 * One refund. The newest reading counts, at the earliest time any reading reports; `failed_at`
 * gives the money back to the merchant.
 */
const refundSchema = record("Refund", [
  field("refund", "string"),
  field("payment", ["null", "string"], "null: a refund that names no sale"),
  field("at", timestamp),
  ...moneyFields,
  field("failed_at", ["null", timestamp]),
  field("account", ["null", "string"]),
  field("country", ["null", "string"]),
  field("lines", listOf(lineSchema), "empty: pro rata"),
  // Minor units, inside amount; null: not reported, as much of the tax as of the sale.
  defaulted("tax", ["null", "long"], null),
  // What it is returned for, of which no payment is known: its payments have parts of it.
  defaulted("purchase", ["null", "string"], null),
]);

/** All that was refunded of a payment up to `at`, where single refunds are not reported. */
const refundTotalSchema = record("RefundTotal", [
  field("payment", "string"),
  field("at", timestamp),
  ...moneyFields,
  // What keeps the total, where several do (an order and its invoice): the greatest counts.
  defaulted("witness", "string", ""),
]);

/**
 * The state of a dispute. Times of the money win over a notice's, those over an outcome's. A return
 * under an id of its own (never withdrawn) belongs to the earliest dispute still open then.
 */
const disputeSchema = record("Dispute", [
  field("dispute", "string"),
  field("payment", "string"),
  ...moneyFields,
  field("withdrawn_at", ["null", timestamp]),
  field("returned_at", ["null", timestamp]),
  // Whose times they are: of the money itself, of its notice, of the dispute's end.
  field("reported_by", enumOf("ReportedBy", ["outcome", "notice", "money"])),
  // Minor units, of amount, at returned_at; null: all of it.
  defaulted("returned_amount", ["null", "long"], null),
  // Those it names; empty: pro rata.
  defaulted("lines", listOf(lineSchema), []),
  // Minor units, inside amount; null: not reported, as much of the tax as of the sale.
  defaulted("tax", ["null", "long"], null),
]);

const itemSchema = record("Item", [
  field("item", "string", "stable while the item exists; the rate is held on it"),
  field("external_id", "string"),
  // What the customer pays a month after recurring discounts, exactly, as a fraction.
  field("monthly_numerator", "long"),
  field("monthly_denominator", "long", "of one minor unit; positive"),
  // Of facts of versions before it is not known.
  defaulted("plan_interval", enumOf("PlanInterval", planIntervals), "unknown"),
]);
export type Item = Avro<typeof itemSchema>;

/**
 * What a subscription is worth from `steps[0].at` on. Further steps are announced ends of
 * discounts: each comes true by itself unless another change of the subscription comes first.
 */
const subscriptionSchema = record("Subscription", [
  field("subscription", "string"),
  field("account", "string"),
  field("country", ["null", "string"]),
  field("currency", "string", "empty when nothing is priced"),
  field("phase", enumOf("Phase", ["expired", "started", "changed", "ended"])),
  field(
    "steps",
    listOf(record("Step", [field("at", timestamp), field("items", listOf(itemSchema))])),
  ),
  // The first step is a free trial, which has no items. Facts of versions before say nothing of it.
  defaulted("trial", "boolean", false),
]);

/**
 * One side of a form A subscription without an id. `pool` names all that could be partners:
 * provider, product, amount, currency. The oldest open start is ended by the next churn.
 */
const unidentifiedSchema = record("Unidentified", [
  field("pool", "string"),
  field("side", enumOf("Side", ["start", "churn"])),
  field("at", timestamp),
  field("subscription", "string", "of a start: what its churn will end"),
  field("account", "string"),
]);

/**
 * What a provider says of the payments of a subscription beside what it is worth: that the last one
 * failed, that it stopped unpaid, or why it ended.
 */
const standingSchema = record("Standing", [
  field("subscription", "string"),
  field("account", "string"),
  field("at", timestamp),
  // When the period began that was paid last; `at` where that is not reported. What begins after
  // it was paid.
  field("paid_from", timestamp),
  field(
    "standing",
    enumOf("StandingKind", ["failing", "unpaid", "ended_unpaid", "ended_otherwise"]),
  ),
]);

/** Where a customer is. Of an account the earliest (happened_at, then event id) counts. */
const customerSchema = record("Customer", [
  field("account", "string"),
  field("country", "string", "ISO 3166-1 alpha-2"),
]);

/** A SKU was named. */
const skuSchema = record("Sku", [field("external_id", "string"), field("name", "string")]);

/** How an amount of this fact becomes base currency; see schemas/rates. */
const quoteSchema = record("Quote", [
  field("currency", "string"),
  field("base_currency", "string"),
  field("rate", "string", "base per original, decimal, 10 significant digits"),
  field("date", "string", "YYYY-MM-DD the quote was published"),
  field("source", "string", "same, ecb, wide"),
  field("edition", "int"),
]);
export type Quote = Avro<typeof quoteSchema>;

const factSchema = record("Fact", [
  field("fact_id", "string", "event id and position: one fact, however often reported"),
  field("event_id", "string"),
  field("workspace", "string"),
  field("environment", environment),
  field("provider", "string"),
  field("partition", "int", "where the raw event lies on its topic"),
  field("offset", "long"),
  field("native_type", "string"),
  field("received_at", timestamp, "recorded clock"),
  field("happened_at", timestamp, "orders the readings of one thing"),
  field("base_currency", "string"),
  field("replay", "boolean", "publish again even when nothing is new"),
  field("backfill", "boolean", "history: not for the live stream"),
  field("quote", ["null", quoteSchema]),
  field("body", [
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
    standingSchema,
  ]),
]);
export type Fact = Avro<typeof factSchema>;
export type FactBody = Fact["body"];
/** What a fact of one kind says. */
export type BodyOf<Kind extends string> =
  Extract<FactBody, Record<Kind, unknown>> extends Record<Kind, infer Body> ? Body : never;
export type Environment = Avro<typeof environment>;

/** A workspace's environment: nothing crosses to another. */
export interface Tenant {
  readonly workspace: string;
  readonly environment: Environment;
}

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
    field("id", "string", "tx_norm_…, the same in every version"),
    field("version", "int", "grows with what is known; the greatest is the truth"),
    field("workspace", "string"),
    field("environment", environment),
    field("provider", "string"),
    field("external_id", "string", "SKU of the largest line; empty when unknown"),
    field("product_name", "string", "as known when published"),
    field("gross_amount", "long", "minor units of original_currency, above 0"),
    field("original_currency", "string", "ISO 4217"),
    field("normalized_amount", "long", "gross_amount in minor units of base_currency"),
    field("base_currency", "string", "ISO 4217, of the workspace"),
    field("fx_rate", "string", "base per original, decimal"),
    field("fx_date", "string", "YYYY-MM-DD the rate was published"),
    field("fx_source", "string", "same, ecb or wide"),
    field("refunded_amount", "long", "of gross_amount, minor units of original_currency"),
    field(
      "tax_amount",
      ["null", "long"],
      "in gross_amount, minor units of original_currency; null when not reported",
    ),
    field(
      "fee_amount",
      ["null", "long"],
      "kept by the provider, minor units of original_currency; null when not reported",
    ),
    field("customer_country", "string", "ISO 3166-1 alpha-2; ZZ when not reported"),
    field("account", "string", "keyed hash of the customer; empty for a guest"),
    field(
      "type",
      openEnumOf("TransactionType", ["subscription", "one_time", "refund", "unknown"]),
      "refund: one that names no sale; gross_amount is what was given back",
    ),
    field(
      "status",
      openEnumOf("TransactionStatus", ["succeeded", "refunded", "disputed", "unknown"]),
      "refunded: wholly; disputed: until it is won",
    ),
    field("timestamp", timestamp, "when it was paid"),
    field("recorded_at", timestamp, "when event_id was received"),
    field("event_id", "string", "the raw event that made this version"),
    field("backfill", "boolean", "read from the provider's history"),
    {
      ...defaulted("first", "boolean", false),
      doc: "no version of it was published before; false where the schema had no such field",
    },
  ],
} as const;
export type TransactionRecord = Avro<typeof transactionSchema>;

/** In the order of answers. */
export const movementKinds = [
  "new",
  "expansion",
  "contraction",
  "churn",
  "reactivation",
  "switch",
] as const;
export type MovementKind = (typeof movementKinds)[number];

export const movementSchema = {
  type: "record",
  name: "MrrMovement",
  namespace: "revenue",
  doc: "A difference of one account's MRR. Additive: count each id once and sum.",
  fields: [
    field("id", "string", "mov_norm_…"),
    field("workspace", "string"),
    field("environment", environment),
    field("provider", "string"),
    field("account", "string", "keyed hash of the customer"),
    field("subscription", "string"),
    field("external_id", "string", "SKU; empty when unknown"),
    field("currency", "string", "original currency of the price"),
    field("country", "string", "ISO 3166-1 alpha-2; ZZ when not reported"),
    field(
      "kind",
      openEnumOf("MovementKind", [...movementKinds, "unknown"]),
      "switch: between SKUs, subscriptions, currencies or plan intervals; a moment's add up to 0",
    ),
    field("at", timestamp, "when MRR changed"),
    field("mrr", "string", "signed decimal text, major units of base_currency, up to 6 places"),
    field("base_currency", "string", "ISO 4217, of the workspace"),
    field("vintage", "string", "YYYY-MM, month of the account's first MRR"),
    field("recorded_at", timestamp, "when event_id was received"),
    field("event_id", "string", "the raw event that caused it"),
    {
      ...defaulted("plan_interval", "string", "unknown"),
      doc: "how often the plan is billed: week, month, quarter, half_year, year, other or unknown",
    },
    {
      ...defaulted("backfill", "boolean", false),
      doc: "event_id was read from the provider's history",
    },
  ],
} as const;
export type MovementRecord = Avro<typeof movementSchema>;

const rejectSchema = {
  type: "record",
  name: "Reject",
  namespace: "revenue",
  fields: [
    field("event_id", "string"),
    field("workspace", "string"),
    field("environment", environment),
    field("provider", "string"),
    field("native_type", "string"),
    field("received_at", timestamp),
    field("step", "string"),
    field("reason", "string", "a stable word"),
    field("detail", "string", "a sentence for a person; no payload"),
    field("partition", "int"),
    field("offset", "string"),
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

/**
 * As they lie in the state, and may lie on the log, since before a fact could be a standing, before
 * a subscription said that it is on trial, and before an item had its interval.
 */
const factWithoutStanding = withoutRecord(factSchema, "Standing");
const untriedFact = withoutField(factWithoutStanding, "Subscription", "trial");
const earlierFacts = () => [
  readerOf(factCodec, factWithoutStanding),
  readerOf(factCodec, untriedFact),
  readerOf(factCodec, withoutField(untriedFact, "Item", "plan_interval")),
];
/** As they lie on the log, where another version of the service may meet them. */
export const factRecords = selfDescribing(factCodec, earlierFacts);
/** Only when a fact's event was received, and whose it is. */
const receiptsOf = <Of extends Reader<Fact>>(facts: Of) => ({
  ...facts,
  decode: fieldsReader<Fact, "workspace" | "received_at">(facts, "workspace", "received_at"),
});
export const factReceipts = selfDescribing(receiptsOf(factCodec), () =>
  earlierFacts().map(receiptsOf),
);
export const incompleteRecords = selfDescribing(codec(incompleteSchema));
