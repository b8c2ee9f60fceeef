/** Outgoing webhooks: endpoints, deliveries, and what is sent about things that are not figures. */
import { z } from "zod";
import { name, timestamp } from "../manage.js";
import { digest, digestPreview } from "./digests.js";
import { pageQuery } from "../pages.js";
import { cellQuery } from "../series.js";
import { transaction } from "../transactions.js";

const eventTypes = [
  "transaction.recorded",
  "transaction.updated",
  "mrr.movement",
  "reject.opened",
  "integration.silent",
  "reconciliation.differs",
  "alert.fired",
  "digest.ready",
] as const;
export type EventType = (typeof eventTypes)[number];

/** Sent when somebody asks for it, to one endpoint. */
export const testType = "webhook.test";

const environment = z.enum(["Production", "Test"]);
const url = z.string().max(2_000).describe("`https://…`; no private address, no redirects");
const events = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(eventTypes.length)
  .transform((types) => [...new Set(types)]);

/** A filter as the figures have it, kept as it was written. */
const filterText = (filter: z.ZodType) =>
  z
    .string()
    .max(1_000)
    .superRefine((text, ctx) => {
      const { error } = filter.safeParse(text);
      if (error) ctx.addIssue({ code: "custom", message: error.issues[0]?.message ?? "is wrong" });
    })
    .optional();
const filters = z
  .strictObject({
    provider: filterText(cellQuery.provider),
    product: filterText(cellQuery.product),
    currency: filterText(cellQuery.currency),
    country: filterText(cellQuery.country),
    segment: z
      .string()
      .regex(/^seg_[0-9A-Za-z]{20}$/, "must be the id of a segment")
      .optional()
      .describe("Of the environment, as it is at each event, or was when it was deleted"),
  })
  .describe("As those of figures: `DE,FR` or `-DE`. What an event does not have does not count");
/** As they are applied. */
export const readFilters = z.object(cellQuery);

export const newWebhookEndpoint = z.strictObject({
  environment,
  url,
  events,
  filters: filters.optional(),
  name: name.optional(),
});
export const changedWebhookEndpoint = z.strictObject({
  url: url.optional(),
  events: events.optional(),
  filters: filters.optional(),
  name: name.nullable().optional(),
  enabled: z.boolean().optional().describe("True also sends what waited at once"),
});

const disabledBy = z.enum(["member", "failing", "gone", "too_many"]);

export const webhookEndpoint = z
  .object({
    id: z.string(),
    environment,
    url: z.string(),
    name: z.string().nullable(),
    events: z.array(z.enum(eventTypes)),
    filters: z.record(z.string(), z.string()),
    pending: z.int().describe("Deliveries that wait, or are tried again"),
    failing_since: timestamp.nullable().describe("Nothing was taken since"),
    next_try_at: timestamp.nullable().describe("While it fails"),
    problem: z.string().nullable().describe("Why the last call failed"),
    disabled_at: timestamp.nullable(),
    disabled_by: disabledBy
      .nullable()
      .describe(
        "`failing`: for 3 days nothing was taken; `gone`: it answered 410; `too_many`: more " +
          "deliveries waited than may",
      ),
    old_secret_until: timestamp.nullable().describe("It signs beside the new one until then"),
    created_at: timestamp,
  })
  .meta({ id: "WebhookEndpoint" });
export type WebhookEndpointView = z.output<typeof webhookEndpoint>;
export const webhookEndpointWithSecret = webhookEndpoint.extend({
  secret: z.string().describe("Shown only here"),
});

export const webhookDelivery = z
  .object({
    id: z.string(),
    message: z.string().describe("`webhook-id`, the same for every try"),
    type: z.string(),
    state: z.enum(["pending", "delivered", "failed"]),
    attempts: z.int(),
    response_status: z.int().nullable().describe("Of the last answer"),
    problem: z.string().nullable(),
    next_try_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    created_at: timestamp,
    payload: z.string().describe("The JSON that is signed and sent"),
  })
  .meta({ id: "WebhookDelivery" });
export type WebhookDeliveryView = z.output<typeof webhookDelivery>;

export const deliveriesQuery = z.object({
  ...pageQuery,
  state: webhookDelivery.shape.state.optional(),
});

export const replayedDeliveries = z.strictObject({
  since: timestamp.describe("Of deliveries made then or later"),
  state: z.enum(["failed", "all"]).describe("`all`: those that were taken, too"),
});
export const replayedCount = z.object({
  replayed: z.int(),
  next_since: timestamp.nullable().describe("There are more: call again with this `since`"),
});

const text = z.string().max(1_000);
const day = z.iso.date();
const beforeAndNow = z.object({
  before: z.number().nullable().describe("A period earlier"),
  now: z.number(),
});

/** What is sent about things that are announced, by type. */
export const announced = {
  "reject.opened": z.object({
    event_id: z.string().describe("For the list of rejects"),
    provider: z.string(),
    native_type: z.string(),
    step: z.string(),
    reason: z.string().describe("A stable word"),
    detail: z.string(),
    received_at: timestamp,
  }),
  "integration.silent": z.object({
    integration: z.string(),
    provider: z.string(),
    name: z.string().nullable(),
    state: z.string().describe("As in its health: `quiet`, `refused`, `waiting`, `incomplete`"),
    since: timestamp,
  }),
  "reconciliation.differs": z.object({
    integration: z.string(),
    provider: z.string(),
    month: z.string().describe("`YYYY-MM`"),
    score_pct: z.number().nullable().describe("How much of the month's money agrees"),
    differences: z.int().describe("Payments, refunds and disputes that differ"),
    compared_at: timestamp,
  }),
  "alert.fired": z.object({
    alert: z.string().describe("Its id"),
    title: text.describe("`MRR below €10,000.00`"),
    sentence: text.describe("What happened"),
    value: z.number().describe("Of the figure, in the base currency or percent; or a count"),
    fired_at: timestamp.describe("The moment the value is of"),
    link: z.string().max(2_000).describe("The screen that explains it, frozen"),
  }),
  "digest.ready": z.object({
    digest: z.string().describe("Its id"),
    frequency: digest.shape.frequency,
    segment: digest.shape.segment,
    from: day.describe("The first day of the period"),
    to: day.describe("The day after the last"),
    at: timestamp.describe("The moment `mrr` is of, the end of the period"),
    known_at: timestamp.describe("What was received later does not count"),
    title: z.string(),
    text: z.string().describe("What changed and why, with the figures and their links"),
    picture: digestPreview.shape.picture.describe("MRR day by day: a PNG, as a `data:` URL"),
    currency: z.string().describe("The base currency, of all amounts"),
    mrr: beforeAndNow,
    revenue: beforeAndNow,
    sales: beforeAndNow,
    links: z
      .object({ mrr: z.url(), what_changed: z.url(), revenue: z.url() })
      .describe("The screens that explain it, frozen"),
  }),
} as const;
export type AnnouncedType = keyof typeof announced;

export const testSent = z.object({ endpoint: z.string() });

/** What is around what is sent. */
export const webhookMessage = <Type extends string, Data extends z.ZodType>(
  type: Type,
  data: Data,
) =>
  z.object({
    type: z.literal(type),
    timestamp: timestamp.describe("When it was recorded"),
    workspace: z.string(),
    environment,
    data,
  });

export const sentTransaction = transaction.extend({
  event_id: z.string().describe("The raw event that made this version."),
});
