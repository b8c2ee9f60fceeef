/**
 * The evidence behind a figure: ledger entries, and the raw events with what was read from them.
 */
import { z } from "zod";
import { bookedAt } from "../../schemas/booked-at.js";
import { providerToken } from "../../schemas/http/transactions.js";

const ledgerKinds = ["sale", "refund", "dispute", "dispute_won"] as const;

/** One movement of money; entries with the same `entry` add up to what moved. */
export const ledgerEntry = z
  .object({
    entry: z.string().meta({ description: "What moved: `sale`, `refund:…`, `dispute:…`" }),
    kind: z.enum(ledgerKinds),
    product_id: z.string().meta({ description: "The product the SKU belongs to today." }),
    product_name: z.string(),
    provider: providerToken,
    external_id: z.string().meta({ description: "The SKU; empty while nobody has reported it." }),
    customer_country: z.string(),
    original_amount: z.number().meta({ description: "Signed, in `original_currency`." }),
    original_currency: z.string(),
    amount: z.number().meta({ description: "Signed, in `base_currency`: this is revenue." }),
    tax_amount: z.number().meta({ description: "Within `amount`, in `base_currency`." }),
    fee_amount: z.number().meta({ description: "Kept by the provider, in `base_currency`." }),
    base_currency: z.string(),
    sales: z.int().meta({ description: "What the entry adds to `total_sales`." }),
    happened_at: z.iso.datetime(),
    recorded_at: z.iso.datetime(),
    booked_at: bookedAt,
    event_id: z.string().meta({ description: "The raw event it was recorded under." }),
  })
  .meta({ id: "LedgerEntry" });
export type LedgerEntry = z.output<typeof ledgerEntry>;

const factKinds = [
  "payment",
  "purchase",
  "link",
  "refund",
  "refund_total",
  "dispute",
  "subscription",
  "unidentified",
  "sku",
  "customer",
  "standing",
] as const;

/** What an adapter read from a raw event, with its quote. */
export const fact = z
  .object({
    fact_id: z.string(),
    kind: z.enum(factKinds),
    about: z.string().meta({ description: "The provider's id of what it reports something of." }),
    happened_at: z.iso.datetime(),
    amount: z.number().nullable().meta({ description: "In `currency`, where it reports one." }),
    currency: z.string().nullable(),
    fx_rate: z.number().nullable().meta({ description: "Null where nothing is converted." }),
    fx_date: z.string().nullable().meta({ description: "When that rate was published." }),
    fx_source: z.string().nullable().meta({ description: "`ecb`, `wide`; `same` needs none." }),
    fx_edition: z.int().nullable().meta({ description: "State of all rates, stamped at receipt." }),
  })
  .meta({ id: "Fact" });
export type FactView = z.output<typeof fact>;

export const rawEvent = z
  .object({
    event_id: z.string().meta({ description: "`evt_norm_…`" }),
    received_at: z.iso.datetime(),
    topic: z.string(),
    partition: z.int(),
    offset: z.int(),
    provider: providerToken,
    native_type: z.string().meta({ description: "The provider's own type." }),
    native_id: z.string().nullable().meta({
      description:
        "The provider's own id. Null, as `form` and `verdict`, until the journal has it.",
    }),
    form: z.string().nullable().meta({ description: "`webhook`, `record` (A) or `native` (B)" }),
    verdict: z.string().nullable().meta({ description: "How the call was verified." }),
    facts: z.array(fact),
  })
  .meta({ id: "RawEvent" });
export type RawEventView = z.output<typeof rawEvent>;
