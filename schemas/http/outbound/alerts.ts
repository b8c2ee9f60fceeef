/** Alerts: what is watched, when it fires, who is told, and what a test on history answers. */
import { z } from "zod";
import { timestamp } from "../manage.js";
import { segmentText } from "../series.js";

/** By the names of `/v1/metrics/summary` and `/v1/metrics/revenue`. */
export const summaryNames = [
  "mrr",
  "arr",
  "net_new_mrr",
  "active_subscribers",
  "arpa",
  "ltv",
  "quick_ratio",
  "customer_churn_rate_pct",
  "gross_revenue_churn_rate_pct",
  "net_revenue_churn_rate_pct",
] as const;
const revenueNames = ["revenue", "gross", "refunds", "disputes", "net", "sales"] as const;
const figures = [...summaryNames, ...revenueNames] as const;
export type AlertFigure = (typeof figures)[number];

/** The longest look back of a condition, in intervals. */
const intervalsMax = 366;
const hoursMax = 30 * 24;

const limit = z.number().describe("Amounts in the base currency, rates in percent");

const alertCondition = z.discriminatedUnion("is", [
  z.strictObject({ is: z.literal("above"), value: limit }),
  z.strictObject({ is: z.literal("below"), value: limit }),
  z.strictObject({
    is: z.literal("change"),
    way: z.enum(["up", "down", "either"]),
    by: z.number().positive().describe("At least so much"),
    unit: z.enum(["percent", "amount"]),
    over: z.int().min(1).max(intervalsMax).describe("Compared with so many intervals before"),
  }),
  z.strictObject({
    is: z.literal("unusual"),
    deviations: z.number().min(1).max(20).describe("Farther from the median than so many"),
    periods: z.int().min(5).max(52).describe("Like periods before that say what is usual"),
  }),
]);
export type AlertCondition = z.infer<typeof alertCondition>;

const filter = z.string().min(1).max(500).optional();
const integration = z.string().max(100).optional().describe("Left out: of all of the workspace");
const count = z.int().min(0).max(1_000_000);

const alertRule = z.discriminatedUnion("on", [
  z.strictObject({
    on: z.literal("figure"),
    figure: z.enum(figures),
    interval: z.enum(["day", "week", "month"]),
    filters: z
      .strictObject({
        provider: filter,
        product: filter,
        currency: filter,
        country: filter,
        plan_interval: filter,
        vintage: filter,
        segment: segmentText.optional(),
      })
      .optional()
      .describe("As the calls about figures take them"),
    condition: alertCondition,
  }),
  z.strictObject({
    on: z.literal("silence").describe("No event for so long"),
    hours: z.int().min(1).max(hoursMax),
    integration,
  }),
  z.strictObject({ on: z.literal("rejects").describe("Open ones"), above: count }),
  z.strictObject({
    on: z.literal("differences").describe("Payments, refunds and disputes that differ"),
    above: count,
    integration,
  }),
]);
export type AlertRule = z.infer<typeof alertRule>;
export type FigureRule = Extract<AlertRule, { readonly on: "figure" }>;

const channel = z.discriminatedUnion("by", [
  z.strictObject({ by: z.literal("email"), member: z.string().max(100) }),
  z.strictObject({ by: z.literal("chat") }),
]);
export type AlertChannel = z.infer<typeof channel>;

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time of day: 22:00");
const quiet = z
  .strictObject({
    from: timeOfDay,
    to: timeOfDay,
    time_zone: z.string().max(100).refine(isTimeZone, "must be a time zone as Europe/Berlin"),
  })
  .refine(({ from, to }) => from !== to, "from and to must differ")
  .nullable()
  .describe("Messages of these hours are sent together when they end");
export type QuietHours = z.infer<typeof quiet>;

const channels = z.array(channel).min(1).max(20);

export const newAlert = z.strictObject({ rule: alertRule, channels, quiet: quiet.optional() });
export const changedAlert = z.strictObject({
  rule: alertRule.optional().describe("It is watched anew from now on"),
  channels: channels.optional(),
  quiet: quiet.optional(),
  paused: z.boolean().optional(),
});
export const testedAlert = z.strictObject({ rule: alertRule });

export const alert = z
  .object({
    id: z.string(),
    title: z.string().describe("The rule, as a sentence"),
    rule: alertRule,
    channels: z.array(channel),
    quiet,
    paused: z.boolean(),
    is_firing: z.boolean().describe("The condition is true now; it fires again after it was not"),
    fired_at: timestamp.nullable().describe("When it fired last"),
    problem: z.string().nullable().describe("Why the last look, or the last message, failed"),
    created_at: timestamp,
  })
  .meta({ id: "Alert" });
export type AlertView = z.infer<typeof alert>;

const turn = {
  at: timestamp.describe("The moment the value is of"),
  value: z.number(),
  sentence: z.string(),
};

export const alertTest = z.object({
  title: z.string(),
  from: timestamp,
  to: timestamp,
  fired: z.int().describe("How often it would have fired"),
  firings: z.array(z.object(turn)).describe("The newest of them, oldest first"),
  is_true_now: z.boolean().describe("Saved like this, it would fire at once"),
});
export type AlertTest = z.infer<typeof alertTest>;

export const alertFiring = z
  .object({
    id: z.string(),
    alert: z.string(),
    ...turn,
    link: z.string().describe("The screen that explains it, frozen where it shows figures"),
    ended_at: timestamp.nullable().describe("When the condition was no longer true"),
    created_at: timestamp,
    messages: z.array(
      z.object({
        channel,
        state: z.enum(["waiting", "sent", "given_up"]),
        sent_at: timestamp.nullable(),
        problem: z.string().nullable().describe("Why the last try failed"),
      }),
    ),
  })
  .meta({ id: "AlertFiring" });
export type AlertFiringView = z.infer<typeof alertFiring>;

/** The channel of a workspace for chat programs that take Slack's incoming webhooks. */
export const chatChannel = z
  .object({
    id: z.string(),
    host: z.string().describe("All that is shown of its URL, which is a secret"),
    created_at: timestamp,
  })
  .meta({ id: "ChatChannel" });
export const newChatChannel = z.strictObject({ url: z.string().min(1).max(2_000) });
export const chatChannels = z.object({ chat: chatChannel.nullable() });

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
