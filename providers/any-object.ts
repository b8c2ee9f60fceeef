/** A JSON object that is passed on unchanged: `z.looseObject` would copy every field. */
import { z } from "zod";

export const anyObject = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "Invalid input: expected object",
);
