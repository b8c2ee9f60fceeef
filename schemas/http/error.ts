/** The shape of all error answers (`definitions.md`, Errors). */
import { z } from "zod";

const errorTypes = [
  "invalid_request",
  "authentication",
  "permission",
  "not_found",
  "conflict",
  "rate_limited",
  "unavailable",
  "internal",
] as const;

export const errorAnswer = z
  .object({
    status: z.literal("error"),
    error: z.object({
      type: z.enum(errorTypes),
      code: z.string().describe("Stable, for programs."),
      message: z.string().describe("For people."),
      param: z.string().optional().describe("The field or parameter that is wrong."),
      request_id: z.string(),
    }),
  })
  .meta({ id: "Error" });
