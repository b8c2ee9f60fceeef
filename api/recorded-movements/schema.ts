/** `GET /v1/mrr-movements`: MRR movements as they were recorded, one by one. */
import { z } from "zod";
import { completeAnswer, instant, instantOrDay } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { mrrChange } from "../mrr-changes/schema.js";
import { pageQuery, pagination } from "../../schemas/http/pages.js";
import { accountId, moment, mrrCellQuery } from "../../schemas/http/series.js";
import { severalNote, severalOf } from "../../schemas/http/several.js";
import { planIntervals } from "../../schemas/money/plan-intervals.js";
import { movementKinds } from "../../schemas/records/records.js";

const recordedMovementSorts = ["-at", "at", "-mrr", "mrr"] as const;
export type RecordedMovementSort = (typeof recordedMovementSorts)[number];

export const recordedMovementsQueryParameters = z.object({
  kind: severalOf(movementKinds).optional().meta({ description: severalNote }),
  sort: z
    .enum(recordedMovementSorts)
    .optional()
    .meta({ description: "With `-` descending; of equals by account. Default: `-at`." }),
  from: moment.optional().meta({
    type: "string",
    description: "Dated then or later: a date (its 00:00 UTC) or a date-time.",
  }),
  to: moment.optional().meta({
    type: "string",
    description: "Dated before then: the moment itself is not included.",
  }),
  ...mrrCellQuery,
  account: accountId.optional(),
  ...pageQuery,
  at: instantOrDay.optional().meta({
    type: "string",
    description: "Movements dated up to then. Default: also all that are announced.",
  }),
  known_at: instant.optional().meta({
    description: "Recorded up to then. Not after `complete_to`, which is the default.",
  }),
  ...formatQuery,
});

const { active_subscribers: _none, mrr_exact: exact, ...cells } = mrrChange.shape;

export const recordedMovement = z.object({
  id: z.string().meta({ description: "`mov_norm_…`, the same as on the public topic." }),
  ...cells,
  event_id: z.string().meta({
    description: "The raw event that caused it.",
  }),
  mrr: z.number().meta({ description: "Signed, rounded." }),
  mrr_exact: exact,
  base_currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
  plan_interval: z.enum(planIntervals).meta({ description: "How often the plan is billed." }),
});
export type RecordedMovement = z.output<typeof recordedMovement>;

const listedMovement = recordedMovement.extend(customerField).meta({ id: "RecordedMovement" });
export type ListedMovement = z.output<typeof listedMovement>;

export const recordedMovementsAnswer = completeAnswer("RecordedMovementsAnswer", {
  data: z.array(listedMovement).meta({
    description: "`mrr_exact` of those up to a moment add up to MRR.",
  }),
  totals: z
    .object({
      movements: z.int(),
      mrr: z.number().meta({ description: "What they add up to." }),
      mrr_exact: exact,
    })
    .meta({ id: "RecordedMovementsTotals", description: "Of all pages." }),
  pagination,
});
export type RecordedMovementsAnswer = z.output<typeof recordedMovementsAnswer>;
