/** Digests: the figures of a period, sent to a member or to a channel of the workspace. */
import { z } from "zod";
import { timestamp } from "../manage.js";
import { segmentText } from "../series.js";

export const frequencies = ["daily", "weekly", "monthly"] as const;
export type Frequency = (typeof frequencies)[number];

const frequency = z.enum(frequencies);

const segment = segmentText.optional().describe("Its part of the figures. Default: all");

export const newDigest = z.strictObject({ frequency, segment });
export const previewQuery = z.object({ frequency: frequency.optional(), segment });

export const digest = z
  .object({
    id: z.string(),
    frequency,
    segment: z.string().nullable().describe("Id of the segment it is of"),
    next_at: timestamp.describe("When it is sent next, or tried again"),
    sent_at: timestamp.nullable().describe("When it was sent last"),
    problem: z.string().nullable().describe("Why the last try failed"),
    created_at: timestamp,
  })
  .meta({ id: "Digest" });

export const digests = z.object({
  missing_settings: z.array(z.string()).describe("Settings without which no e-mail is sent"),
  email: digest.nullable().describe("Your own"),
  chat: digest.nullable().describe("Of the workspace, to its chat channel"),
  webhook: digest.nullable().describe("Of the workspace, to its webhooks"),
});

export const digestPreview = z.object({
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  picture: z.string().describe("What `html` shows as `cid:mrr`: a PNG, as a `data:` URL"),
});
