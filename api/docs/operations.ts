/**
 * Every operation of the HTTP interface. Those of the role `ingest` are written down here, since
 * another process may answer them.
 */
import { z } from "zod";
import { eventRecordShape, flatPayloadShape } from "../../providers/record.js";
import { batchLine, ingestAnswer, webhookAnswer } from "../../schemas/http/ingest.js";
import { manageRoutes } from "../manage/routes.js";
import { readRoutes } from "../read-routes.js";
import { registryRoutes } from "../registry/route.js";
import type { Operation } from "../route.js";
import { sessionRoutes } from "../session/routes.js";

const formB = z
  .strictObject({
    provider: eventRecordShape.shape.provider,
    event_type: z.string().meta({ description: "The provider's own type." }),
    payload: z.union([
      flatPayloadShape.meta({ id: "FlatPayload" }),
      z.looseObject({}).meta({ description: "The provider's own whole webhook body." }),
    ]),
  })
  .meta({
    id: "EventFormB",
    description:
      "Form B: a raw provider event, the whole body of its webhook or flat. Each flat sale and " +
      "flat new subscription books its amount: events of one payment share their `transaction_id`.",
  });

export const operations: readonly Operation[] = [
  ...readRoutes,
  {
    method: "post",
    path: "/v1/events/ingest",
    tag: "Ingest",
    summary: "Take an event, or a batch of them",
    description:
      "One event as JSON (form A, or form B with `payload`), or up to 10,000 as " +
      "`application/x-ndjson`, one a line; a batch is answered with 200 and one line for each.",
    right: "ingest",
    headers: {
      "Idempotency-Key":
        "Up to 255 characters, kept for 24 hours: the same call again gets the same answer, with " +
        "`Idempotent-Replayed: true`.",
    },
    body: z.union([
      eventRecordShape.meta({ id: "EventFormA", description: "Form A: an event record." }),
      formB,
    ]),
    bodyTypes: ["application/json", "application/x-ndjson"],
    status: 202,
    answer: ingestAnswer.meta({ id: "IngestAnswer" }),
    otherwise: {
      status: 200,
      mediaType: "application/x-ndjson",
      description: "Of a batch: a line for each of its lines, in order.",
      answer: batchLine.meta({ id: "BatchLine" }),
    },
    errors: [409, 413, 415, 422],
  },
  {
    method: "post",
    path: "/v1/webhooks/{token}",
    tag: "Ingest",
    summary: "Where a provider delivers its webhooks",
    description:
      "The untouched body, with the provider's own signature headers; Gumroad sends a form.",
    right: null,
    body: z.looseObject({}),
    bodyTypes: ["application/json", "application/x-www-form-urlencoded"],
    status: 200,
    answer: webhookAnswer.meta({ id: "WebhookAnswer" }),
    errors: [400, 401, 404, 413, 415, 422, 429, 503],
  },
  ...manageRoutes,
  ...sessionRoutes,
  ...registryRoutes,
];
