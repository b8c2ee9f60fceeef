/** What an audit says: for each workspace and table, whether *is* equals *should be*. */
import { z } from "zod";

export const auditedTables = [
  "subscription_changes",
  "unidentified_sides",
  "mrr_movements",
  "money_facts",
  "ledger",
  "transactions",
] as const;
export type AuditedTable = (typeof auditedTables)[number];

/** One row too many, too few or other than it should be. */
const auditExample = z.object({
  subject: z.string().describe("The account (a keyed hash) or the payment"),
  at: z.string().describe("When it happened; of transactions: as of which recorded moment"),
  what: z.string().describe("The kind of the row, or the fields that differ"),
  amount: z
    .string()
    .nullable()
    .describe("Should be minus is: MRR in base currency, ledger amounts in its minor units"),
});
export type AuditExample = z.infer<typeof auditExample>;

export const auditFinding = z.object({
  workspace: z.string(),
  environment: z.enum(["live", "test"]),
  table: z.enum(auditedTables),
  rows: z.int().describe("Rows that were compared"),
  differences: z.int().describe("Rows that are not as they should be"),
  amount: z
    .string()
    .describe("Sum of the differences, should be minus is; 0 of changes and of transactions"),
  examples: z.array(auditExample).describe("The first differences"),
});
export type AuditFinding = z.infer<typeof auditFinding>;
