/** Members, invitations, the activity log, saved views, annotations and goals of a workspace. */
import { z } from "zod";
import { givenMonth, name, timestamp } from "./manage.js";
import { role } from "./session.js";

export const newInvitation = z.strictObject({
  role,
  email: z.email().max(320).optional().describe("Only who has this address, verified, may join"),
  domain: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, "must be a domain as example.com")
    .max(253)
    .optional()
    .describe("Only people with a verified address there may join"),
});
export const invitation = z.object({
  id: z.string(),
  role,
  email: z.string().nullable(),
  domain: z.string().nullable(),
  created_at: timestamp,
  expires_at: timestamp,
});
export const createdInvitation = invitation.extend({
  url: z.string().describe("Counts once; shown only here"),
});

export const changedMember = z.strictObject({ role });
export const member = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  role,
  created_at: timestamp,
});

export const activity = z.object({
  id: z.string(),
  at: timestamp,
  actor: z.string().describe("A member's id, `administrator`, or what acted by itself"),
  action: z.string().describe("`key.created`, `member.changed` …"),
  object: z.string().describe("The id of what it was done to"),
  request_id: z.string(),
  undo: z
    .object({
      product: z.string().describe("The name of the product that the SKUs leave"),
      merged: z.array(
        z.object({
          name: z.string().describe("Of a product that comes back"),
          skus: z
            .array(z.object({ provider: z.string(), external_id: z.string() }))
            .describe("Those that go back to it"),
        }),
      ),
    })
    .nullable()
    .describe("Of a merge of products that can be undone: what would change"),
});

const viewPath = z
  .string()
  .max(4_000)
  .regex(/^\/(?!\/)[^\\\s]*$/, "must be a path of the dashboard, as /mrr?range=12m");
export const newView = z.strictObject({
  name,
  path: viewPath,
  shared: z.boolean().optional().describe("Seen by all members; needs the role admin"),
});
export const changedView = z.strictObject({
  name: name.optional(),
  path: viewPath.optional(),
  shared: z.boolean().optional(),
});
export const savedView = z.object({
  id: z.string(),
  name: z.string(),
  path: z.string(),
  shared: z.boolean(),
  own: z.boolean(),
  created_at: timestamp,
});

const text = z.string().trim().min(1).max(500);
export const newAnnotation = z.strictObject({ day: z.iso.date(), text });
export const changedAnnotation = z.strictObject({
  day: z.iso.date().optional(),
  text: text.optional(),
});
export const annotation = z.object({
  id: z.string(),
  day: z.iso.date(),
  text: z.string(),
  created_at: timestamp,
});

export const goalFigures = ["mrr", "revenue"] as const;
const goalAmount = z.number().positive().describe("In the base currency of the workspace");
export const newGoal = z.strictObject({
  figure: z.enum(goalFigures),
  month: givenMonth,
  amount: goalAmount,
});
export const changedGoal = z.strictObject({ amount: goalAmount });
export const goal = z.object({
  id: z.string(),
  figure: z.enum(goalFigures).describe("MRR at the end of the month, or revenue in it"),
  month: z.string().describe("`YYYY-MM`"),
  amount: goalAmount,
  currency: z.string().describe("ISO 4217, of the workspace"),
  created_at: timestamp,
});
