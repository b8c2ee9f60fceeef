/** Reads back what a receipt keeps; it was written by this service. */
import { z } from "zod";
import { ingestAnswer } from "../schemas/http/ingest.js";
import type { KeptAnswer } from "./event.js";

const shape = z.object({
  answer: ingestAnswer,
  rates_edition: z.int(),
  received_at: z.int(),
});

export function keptAnswer(stored: unknown): KeptAnswer {
  return shape.parse(stored);
}
