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

const kept = { ...report, uploaded_at: timestamp };
export const keptReport = z.object(kept);
export type KeptReportView = z.infer<typeof keptReport>;

export const reportPath = z.object({ kind: z.enum(kinds), month });

export const comparedReport = z.object({
  ...kept,
  proceeds: checkedReport.shape.proceeds,
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
