/** `GET /v1/accounts` and `GET /v1/accounts/{id}`: customers, by keyed hash and never by name. */
import { z } from "zod";
import { clocksQuery, completeAnswer } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery, pagination } from "../../schemas/http/pages.js";
import { mrrCellQuery } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";

const accountSorts = ["-mrr", "mrr", "-first_at", "first_at", "-last_at", "last_at"] as const;
export type AccountSort = (typeof accountSorts)[number];

export const accountsQueryParameters = z.object({
  active: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "Whether the account has MRR (of the part that is asked for)." }),
  search: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .meta({
      description:
        "A provider's own id, exactly: of a customer, or of a payment, an invoice or an order; " +
        "or a customer's e-mail, exactly; or the `id` itself. Of sessions only.",
    }),
  sort: z
    .enum(accountSorts)
    .optional()
    .meta({ description: "With `-` descending; of equals by `id`. Default: `-mrr`." }),
  ...mrrCellQuery,
  ...pageQuery,
  ...clocksQuery,
  ...formatQuery,
});

const mrr = z.number().meta({ description: "Of the part that is asked for." });
const exact = z.string().meta({ description: "The same unrounded: decimal text, six places." });

export const account = z.object({
  id: z.string().meta({ description: "A keyed hash." }),
  provider: providerToken,
  vintage: z.string().meta({ description: "`YYYY-MM`, when it first had MRR." }),
  first_at: z.iso.datetime().meta({ description: "The first movement in that part." }),
  last_at: z.iso.datetime().meta({ description: "The last movement in that part." }),
  active: z.boolean().meta({ description: "Whether `mrr` is above 0." }),
  mrr,
  mrr_exact: exact,
  starting_mrr: z.number().meta({ description: "Its `new` movement, in that part." }),
  currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
});
export type Account = z.output<typeof account>;

const listedAccount = account.extend(customerField).meta({ id: "Account" });

export const accountsAnswer = completeAnswer("AccountsAnswer", {
  data: z.array(listedAccount).meta({
    description:
      "Those that ever had MRR in the part that is asked for. `mrr_exact` of all of them adds " +
      "up to its MRR.",
  }),
  without_mrr: z
    .array(z.object({ id: account.shape.id, provider: providerToken, ...customerField }))
    .optional()
    .meta({
      description:
        "Of the first page of a `search` that nothing else narrows: who was found and never had " +
        "MRR, such as somebody who bought once or is on trial.",
    }),
  pagination,
});
export type AccountsAnswer = z.output<typeof accountsAnswer>;

export const accountQueryParameters = z.object({ ...pageQuery, ...clocksQuery, ...formatQuery });

const accountSubscription = z
  .object({
    subscription: z.string(),
    product_id: z.string().meta({ description: "The product the SKU belongs to today." }),
    product_name: z.string(),
    external_id: z.string(),
    currency: z.string().meta({ description: "Of the price." }),
    country: z.string(),
    mrr: z.number(),
    active: z.boolean().meta({ description: "Whether `mrr` is above 0." }),
    first_at: z.iso.datetime(),
    last_at: z.iso.datetime(),
  })
  .meta({ id: "AccountSubscription" });
export type AccountSubscription = z.output<typeof accountSubscription>;

const timelineTypes = [
  "movement",
  "change",
  "payment",
  "refund",
  "dispute",
  "dispute_won",
  "country",
] as const;
export type TimelineType = (typeof timelineTypes)[number];

const timelineChanges = ["started", "changed", "ended", "expired", "transferred"] as const;

const movementPart = z
  .object({
    subscription: z.string(),
    external_id: z.string().meta({ description: "The SKU, as the provider names it." }),
    product_id: z.string(),
    product_name: z.string(),
    mrr: z.number().meta({ description: "Signed, base currency." }),
  })
  .meta({ id: "TimelineMovementPart" });
export type MovementPart = z.output<typeof movementPart>;

export const timelineItem = z
  .object({
    happened_at: z.iso.datetime(),
    type: z.enum(timelineTypes).meta({
      description:
        "`movement`: all that one moment did to the account's MRR; `change`: a subscription " +
        "began or ended without MRR (a trial); `country`: the account's country became known, " +
        "an hour or more after its first MRR.",
    }),
    id: z.string().meta({
      description: "Of the payment, entry or change; of a movement its moment.",
    }),
    detail: z.string().meta({
      description:
        "The kind of a movement (`switch` where gains and losses are equal), the phase of a " +
        "change, the status of a payment, a country; of money back the id of the transaction.",
    }),
    change: z.enum(timelineChanges).nullable().meta({
      description:
        "What the subscription of a movement did; null: what was announced earlier came true.",
    }),
    event_id: z.string().nullable().meta({
      description: "The raw event that reported it; of a payment the first that did.",
    }),
    subscription: z.string().nullable().meta({ description: "Of a movement: of its first part." }),
    product_id: z.string().nullable(),
    product_name: z.string().nullable(),
    amount: z.number().nullable().meta({
      description: "Signed: MRR gained or lost (base currency), money paid or returned.",
    }),
    currency: z.string().nullable().meta({ description: "Of `amount`." }),
    parts: z.array(movementPart).meta({
      description:
        "Of a movement: what each SKU gained or lost, the largest part of its direction first. " +
        "Corrections recorded later are included.",
    }),
  })
  .meta({ id: "TimelineItem" });
export type TimelineItem = z.output<typeof timelineItem>;

export const accountAnswer = completeAnswer("AccountAnswer", {
  data: z
    .object({
      id: z.string(),
      provider: providerToken,
      vintage: z.string().nullable().meta({ description: "Null without any MRR ever." }),
      active: z.boolean(),
      mrr: z.number(),
      starting_mrr: z.number(),
      currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
      ...customerField,
      subscriptions: z.array(accountSubscription).meta({
        description: "One for each subscription and what it is for; the newest first.",
      }),
      timeline: z.array(timelineItem).meta({
        description:
          "One line for each thing that happened, newest first, in pages. Of one moment what " +
          "ended comes before money, changes, and what started.",
      }),
    })
    .meta({ id: "AccountDetails" }),
  pagination,
});
export type AccountAnswer = z.output<typeof accountAnswer>;
