/** `GET /v1/events/{event_id}`: one raw event's way through the service. Never its payload. */
import { z } from "zod";
import { bookedAt } from "../../schemas/booked-at.js";
import { completeAnswer } from "../../schemas/http/clocks.js";
import { fact, ledgerEntry } from "./evidence-schema.js";
import { providerToken, transactionStatuses } from "../../schemas/http/transactions.js";

const outcomes = ["facts", "ignored", "rejected"] as const;
const seals = ["intact", "broken", "removed"] as const;
const eventStates = ["in_progress", "booked", "ignored", "rejected"] as const;

const notYet = "Null until the journal has it.";

export const eventDelivery = z
  .object({
    received_at: z.iso.datetime(),
    verdict: z.string().meta({ description: "How the call was verified." }),
    topic: z.string(),
    partition: z.int(),
    offset: z.int(),
    seal: z.enum(seals).meta({
      description:
        "`intact`: the bytes and the facts of their receipt are as they were sealed. " +
        "`removed`: retention has taken the record.",
    }),
    rates_edition: z.int(),
    normalized_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: `Read and written down. ${notYet}` }),
    outcome: z.enum(outcomes).nullable().meta({ description: notYet }),
    reason: z.string().nullable().meta({ description: "Why it was ignored or rejected." }),
    facts: z
      .int()
      .nullable()
      .meta({ description: `How many were read from it. ${notYet}` }),
  })
  .meta({ id: "EventDelivery" });

export const eventVersion = z
  .object({
    id: z.string().meta({ description: "Of the transaction." }),
    version: z.int(),
    status: z.enum(transactionStatuses),
    recorded_at: z.iso.datetime(),
    booked_at: bookedAt,
  })
  .meta({ id: "EventVersion" });

export const eventChange = z
  .object({
    change_id: z.string(),
    revision: z.int(),
    void: z.boolean().meta({ description: "This revision takes the change back." }),
    account: z.string().meta({ description: "A keyed hash." }),
    subscription: z.string(),
    phase: z.enum(["expired", "started", "changed", "ended"]),
    currency: z.string().nullable(),
    at: z.iso.datetime(),
    mrr: z.number().meta({
      description: "From `at` on, at this change's own rates; see `docs/explaining.md`.",
    }),
    recorded_at: z.iso.datetime(),
    booked_at: bookedAt,
  })
  .meta({ id: "EventChange" });

const eventMovement = z
  .object({
    account: z.string().meta({ description: "A keyed hash." }),
    subscription: z.string(),
    product_id: z.string(),
    product_name: z.string(),
    external_id: z.string(),
    currency: z.string().meta({ description: "Of the price." }),
    country: z.string(),
    kind: z.string(),
    vintage: z.string().meta({ description: "`YYYY-MM`" }),
    at: z.iso.datetime(),
    mrr: z.number().meta({ description: "Signed, in the base currency." }),
    recorded_at: z.iso.datetime(),
    booked_at: bookedAt,
  })
  .meta({ id: "EventMovement" });

export const eventAnswer = completeAnswer("EventAnswer", {
  data: z
    .object({
      event_id: z.string(),
      provider: providerToken,
      integration: z.string().nullable().meta({ description: "Null for calls with a key." }),
      form: z.string().meta({ description: "`webhook`, `record` (A) or `native` (B)" }),
      native_id: z.string().meta({ description: "The provider's own id." }),
      native_type: z.string(),
      state: z.enum(eventStates).meta({
        description: "`in_progress` until all received up to its last delivery is booked.",
      }),
      deliveries: z.array(eventDelivery).meta({
        description: "In the order of receipt; only the first that could be booked was.",
      }),
      reject: z
        .object({
          step: z.string(),
          reason: z.string(),
          detail: z.string(),
          state: z.string().meta({ description: "`open`, `replayed` or `resolved`" }),
        })
        .nullable(),
      facts: z.array(fact).meta({ description: "Those about money." }),
      ledger: z.array(ledgerEntry),
      transactions: z.array(eventVersion),
      subscription_changes: z.array(eventChange),
      movements: z.array(eventMovement),
      truncated: z.boolean().meta({
        description: "Something above has more rows than are shown of one event.",
      }),
    })
    .meta({ id: "ExplainedEvent" }),
});
export type EventAnswer = z.output<typeof eventAnswer>;
