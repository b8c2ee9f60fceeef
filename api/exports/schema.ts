/** Rows of answers that are no flat list in JSON, as tables have them (`docs/exports.md`). */
import { z } from "zod";
import { accountCohort, cohort } from "../cohorts/schema.js";
import { movementsRow } from "../movement-series/schema.js";
import { revenueRow } from "../revenue/schema.js";
import { summaryFigures } from "../summary/schema.js";
import { transactionVersion } from "../transaction/schema.js";
import { providerToken } from "../../schemas/http/transactions.js";

/** Of the workspace. */
const currency = z.string();

export const mrrExportRow = z.object({ provider: providerToken, mrr: z.number(), currency });

export const movementsExportRow = movementsRow.extend({ currency });

export const revenueExportRow = revenueRow.extend({ currency });

export const summaryExportRow = z.object({
  reading: z.enum(["asked", "compared"]),
  ...summaryFigures.shape,
  currency,
});

/** Intervals since the vintage. */
const period = z.int();

export const cohortExportRow = z.object({
  vintage: cohort.shape.vintage,
  period,
  retention_percentage: z.number(),
  gross_retention_percentage: z.number().optional(),
  starting_mrr: cohort.shape.starting_mrr,
  currency,
});

export const accountCohortExportRow = z.object({
  vintage: accountCohort.shape.vintage,
  period,
  retention_percentage: z.number(),
  starting_accounts: accountCohort.shape.starting_accounts,
});

export const versionExportRow = transactionVersion.omit({ events: true });
