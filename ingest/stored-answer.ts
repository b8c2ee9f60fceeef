/** Reads back what a receipt keeps; it was written by this service, perhaps an earlier version. */
import { z } from "zod";
import { ingestAnswer } from "../schemas/http/ingest.js";
import type { KeptAnswer } from "./event.js";

const shape = z.object({
  answer: ingestAnswer,
  rates_edition: z.int(),
  received_at: z.int().nullable().default(null),
});

export function keptAnswer(stored: unknown): KeptAnswer {
  return shape.parse(stored);
}
