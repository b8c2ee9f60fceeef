/** What the two endpoints answer (`spec.md` 4.5, `definitions.md`, Ingest and Webhooks). */
import { z } from "zod";
import { errorAnswer } from "./errors.js";
import { providerTokens } from "../provider-tokens.js";

export const webhookAnswer = z.object({
  status: z.literal("success"),
  event_id: z.string().describe("evt_norm_…, the same for every redelivery"),
});
export type WebhookAnswer = z.infer<typeof webhookAnswer>;

const normalizedAmount = z.object({
  amount_base: z.number().describe("The amount in the base currency, in major units"),
  base_currency: z.string(),
  fx_rate: z.number().describe("Base currency for one unit of the original; 1 when both are equal"),
  latency_ms: z.number().describe("Milliseconds from receipt until this was known"),
  provisional: z
    .literal(true)
    .optional()
    .describe(
      "Of a refund or dispute: at its own day's rate; its sale's rate decides what is booked",
    ),
  mirror_of: z
    .enum(providerTokens)
    .optional()
    .describe("Kept and not booked: this store is connected itself, and reports the same"),
});

export const ingestAnswer = z.object({
  status: z.literal("success"),
  event_id: z.string().describe("evt_norm_…"),
  normalized: normalizedAmount,
});
export type IngestAnswer = z.infer<typeof ingestAnswer>;

const line = z.int().describe("From 1");
/** Of a batch: what the line's event would have been answered alone. */
export const batchLine = z.union([
  ingestAnswer.extend({
    line,
    idempotent_replayed: z.literal(true).optional().describe("It had been taken before"),
  }),
  errorAnswer.extend({ line }),
]);
