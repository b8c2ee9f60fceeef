/** The outermost shape of every event; what is inside is JSON:API. */
import { z } from "zod";
import { compiled } from "../compiled.js";
import { anyObject } from "../any-object.js";

export const envelopeShape = compiled(
  z.object({
    meta: z.object({ event_name: z.string().min(1) }),
    data: z.object({
      type: z.string().min(1),
      id: z.string().min(1),
      attributes: anyObject,
    }),
  }),
);
