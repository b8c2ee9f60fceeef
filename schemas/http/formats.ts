/** What lists and series are answered in besides JSON (`docs/exports.md`). */
import { z } from "zod";

const exportFormats = ["csv", "ndjson", "parquet"] as const;
export type ExportFormat = (typeof exportFormats)[number];

export const formatQuery = {
  format: z
    .enum(["json", ...exportFormats])
    .optional()
    .describe("Instead of the header `Accept`, over which it wins: for links."),
};
