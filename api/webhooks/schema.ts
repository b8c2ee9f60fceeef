/** What each type of event is sent as: `webhooks` of the OpenAPI document. */
import type { z } from "zod";
import {
  announced,
  sentTransaction,
  testSent,
  testType,
  webhookMessage,
} from "../../schemas/http/outbound/webhooks.js";
import { recordedMovement } from "../recorded-movements/schema.js";

export const sentEvents: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries({
    "transaction.recorded": sentTransaction,
    "transaction.updated": sentTransaction,
    "mrr.movement": recordedMovement,
    ...announced,
    [testType]: testSent,
  }).map(([type, data]) => [type, webhookMessage(type, data)]),
);
