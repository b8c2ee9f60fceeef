/** Stores' reports over HTTP: what a file has, and its sums beside what is booked. */
import { z } from "zod";
import { timestamp } from "./manage.js";

const kinds = ["sales", "finance", "earnings", "estimated_sales"] as const;
export type ReportKind = (typeof kinds)[number];
const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/);

const report = {
  kind: z.enum(kinds),
  month: month.describe("YYYY-MM, the month that most of its days are in"),
  from: timestamp.describe("What it covers, to the hour"),
  to: timestamp.describe("Exclusive"),
  lines: z.int(),
};
const amount = { currency: z.string(), exponent: z.int() };

export const checkedReport = z.object({
  ...report,
  sums: z
    .array(z.object({ ...amount, paid_minor: z.number(), refunded_minor: z.number() }))
    .describe("By the currency that customers paid in"),
  proceeds: z
    .array(z.object({ ...amount, amount_minor: z.number() }))
    .describe("What the store pays of it"),
  left_out: z
    .array(z.object({ why: z.string(), lines: z.int() }))
    .describe("Lines that are in no sum, by reason"),
});
export type CheckedReport = z.infer<typeof checkedReport>;

const sources = ["file", "api"] as const;
export type ReportSource = (typeof sources)[number];
const kept = {
  ...report,
  source: z.enum(sources).describe("Uploaded as a file, or fetched from the store's API"),
  uploaded_at: timestamp.describe("Or fetched"),
};
const { sums, proceeds } = checkedReport.shape;
export const deletedReport = z.object(kept);
export const keptReport = z.object({ ...kept, sums, proceeds });
export type KeptReportView = z.infer<typeof keptReport>;

export const reportPath = z.object({ kind: z.enum(kinds), month });

export const comparedReport = z.object({
  ...kept,
  proceeds,
  rows: z
    .array(
      z.object({
        product: z.string(),
        ...amount,
        reported_paid_minor: z.number(),
        reported_refunded_minor: z.number(),
        booked_paid_minor: z.number(),
        booked_refunded_minor: z.number(),
        difference_minor: z.number().describe("Reported less booked, of paid less refunded"),
      }),
    )
    .describe("The largest differences first"),
});
export type ComparedReport = z.infer<typeof comparedReport>;

export const reportFetch = z.object({
  state: z
    .enum(["none", "waiting", "done", "failed"])
    .describe("none: nobody asked for it. Failed: what there was is kept all the same"),
  problem: z.string().nullable().describe("Why it waits or failed"),
  fetched_at: timestamp.nullable().describe("When the last one ended"),
  kept: z.int().describe("Reports that the last one brought"),
  is_possible: z
    .boolean()
    .describe("Whether the integration has credentials for its store's reports"),
});
export type ReportFetchView = z.infer<typeof reportFetch>;
