/** Every operation of the HTTP interface, by the zod schemas that check it. */
import {
  accountAnswer,
  accountQueryParameters,
  accountsAnswer,
  accountsQueryParameters,
} from "../accounts/schema.js";
import { z } from "zod";
import { eventRecordShape, flatPayloadShape } from "../../providers/record.js";
import { accountCohortsAnswer, cohortsAnswer, cohortsQueryParameters } from "../cohorts/schema.js";
import { countriesAnswer, countriesQueryParameters } from "../countries/schema.js";
import { eventAnswer } from "../events/schema.js";
import { batchLine, ingestAnswer, webhookAnswer } from "../../schemas/http/ingest.js";
import { movementsAnswer, movementsQueryParameters } from "../movement-series/schema.js";
import { mrrAnswer, mrrQueryParameters } from "../mrr/schema.js";
import {
  recordedMovementsAnswer,
  recordedMovementsQueryParameters,
} from "../recorded-movements/schema.js";
import { failedPaymentsAnswer } from "../failed-payments/schema.js";
import { startedQueryParameters } from "../started/schema.js";
import { trialsAnswer } from "../trials/schema.js";
import { whatChangedAnswer, whatChangedQueryParameters } from "../what-changed/schema.js";
import { mrrCompareAnswer, mrrCompareQueryParameters } from "../mrr-compare/schema.js";
import { mrrChangesAnswer, mrrChangesQueryParameters } from "../mrr-changes/schema.js";
import { productsAnswer, productsQueryParameters } from "../products/schema.js";
import { ratesAnswer, ratesQueryParameters } from "../rates/schema.js";
import { revenueAnswer, revenueQueryParameters } from "../revenue/schema.js";
import { streamQueryParameters } from "../stream/schema.js";
import { summaryAnswer, summaryQueryParameters } from "../summary/schema.js";
import { streamMessage, transactionsAnswer } from "../../schemas/http/transactions.js";
import { transactionAnswer, transactionQueryParameters } from "../transaction/schema.js";
import { transactionsQueryParameters } from "../transactions/schema.js";
import { manageOperations } from "./manage-operations.js";
import { sessionOperations } from "./session-operations.js";
import { registryOperations } from "./registry-operations.js";
import type { Operation } from "./operation.js";

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
  metric("mrr", "Monthly recurring revenue", mrrQueryParameters, mrrAnswer),
  metric(
    "cohorts",
    "Net (and gross) revenue retention, or accounts kept, by vintage",
    cohortsQueryParameters,
    z.union([cohortsAnswer, accountCohortsAnswer]),
  ),
  metric(
    "mrr/changes",
    "Why MRR was read differently at two moments",
    mrrChangesQueryParameters,
    mrrChangesAnswer,
    "Two readings of the same figure, and the movements between them under the raw events that " +
      "were recorded meanwhile; docs/explaining.md.",
  ),
  metric(
    "mrr/compare",
    "MRR by our definition beside that of another tool",
    mrrCompareQueryParameters,
    mrrCompareAnswer,
    "Both totals, and the accounts that make the difference, with the rule for each; " +
      "docs/definitions/.",
  ),
  metric(
    "mrr/what-changed",
    "What made MRR another between two moments, largest first",
    whatChangedQueryParameters,
    whatChangedAnswer,
    "By account, product, country, provider or plan interval; `rows` and `others` add up to " +
      "`difference`.",
  ),
  metric(
    "mrr/movements",
    "MRR as balances and the movements between them",
    movementsQueryParameters,
    movementsAnswer,
    "For each interval `start_mrr` and the six movements make `end_mrr`, exactly, in the " +
      "whole and in the part of a provider, product, currency, country or plan interval.",
  ),
  metric(
    "revenue",
    "Sales, refunds, disputes, tax and fees over time",
    revenueQueryParameters,
    revenueAnswer,
  ),
  metric(
    "summary",
    "ARR, ARPA, churn, quick ratio and LTV",
    summaryQueryParameters,
    summaryAnswer,
    "Rates look back 30 days from `at`.",
  ),
  metric(
    "rates",
    "Churn of a month, LTV, ARPA and quick ratio",
    ratesQueryParameters,
    ratesAnswer,
    "Of several months the mean of the whole ones, so that no rate grows with the time asked for.",
  ),
  metric(
    "trials",
    "Free trials by month of start: converted, lost, open",
    startedQueryParameters,
    trialsAnswer,
    "One for each subscription, begun at its first trial. `provider` is the only filter: a trial " +
      "has no product, no currency and no country.",
  ),
  metric(
    "failed-payments",
    "Failed payments by month of start: recovered, lost, open; churn by its reason",
    startedQueryParameters,
    failedPaymentsAnswer,
    "A payment fails from when the provider first says so of a subscription with MRR. " +
      "`provider` is the only filter.",
  ),
  list(
    "countries",
    "Countries there are any figures of",
    countriesQueryParameters,
    countriesAnswer,
    "What the filter `country` may be given.",
  ),
  list("products", "Unified products", productsQueryParameters, productsAnswer),
  list(
    "mrr-movements",
    "MRR movements as recorded, one by one",
    recordedMovementsQueryParameters,
    recordedMovementsAnswer,
    "The same rows, with the same ids, as on the topic `revenue.mrr-movements`, those included " +
      "that lie ahead and those a repair added; docs/topics.md.",
  ),
  list(
    "accounts",
    "Customers that have or had MRR, by keyed hash",
    accountsQueryParameters,
    accountsAnswer,
    "Those behind a cell of retention are its `vintage` with `at` the end of its interval and " +
      "`active=true`.",
  ),
  list(
    "accounts/{id}",
    "One customer: its subscriptions, and movements, payments and events in one time line",
    accountQueryParameters,
    accountAnswer,
  ),
  list("transactions", "Normalized transactions", transactionsQueryParameters, transactionsAnswer),
  list(
    "transactions/{id}",
    "One transaction, its versions, the raw events behind them, its ledger entries",
    transactionQueryParameters,
    transactionAnswer,
  ),
  {
    method: "get",
    path: "/v1/events/{event_id}",
    tag: "Lists",
    summary: "One raw event's way through the service, and all that was recorded under it",
    description: "Never its payload.",
    security: "key",
    status: 200,
    answer: eventAnswer,
    errors: [404],
  },
  {
    method: "get",
    path: "/v1/events/stream",
    tag: "Stream",
    summary: "Live transactions (WebSocket)",
    description:
      "Each message is the JSON text of a StreamMessage: a new version of a transaction. The " +
      "header `X-Cursor` of the handshake's answer is the cursor before the first message. The " +
      "server pings every 15 seconds. Close codes: 1001 the service stops, 1008 the key is no " +
      "longer good, 1011 reconnect with the last cursor, 4408 the reader was too slow, 4410 the " +
      "cursor is too old.",
    security: "key",
    query: streamQueryParameters,
    status: 101,
    answer: streamMessage,
    errors: [],
  },
  {
    method: "post",
    path: "/v1/events/ingest",
    tag: "Ingest",
    summary: "Take an event, or a batch of them",
    description:
      "One event as JSON (form A, or form B with `payload`), or up to 10,000 as " +
      "`application/x-ndjson`, one a line; a batch is answered with 200 and one line for each.",
    security: "key",
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
    security: null,
    body: z.looseObject({}),
    bodyTypes: ["application/json", "application/x-www-form-urlencoded"],
    status: 200,
    answer: webhookAnswer.meta({ id: "WebhookAnswer" }),
    errors: [400, 401, 404, 413, 415, 422, 429, 503],
  },
  ...manageOperations,
  ...sessionOperations,
  ...registryOperations,
];

function metric(...[name, ...rest]: Parameters<typeof list>): Operation {
  return { ...list(`metrics/${name}`, ...rest), tag: "Metrics" };
}

/** What is read with a key, as JSON or as a table. */
function list(
  name: string,
  summary: string,
  query: z.ZodObject,
  answer: z.ZodType,
  description?: string,
): Operation {
  return {
    method: "get",
    path: `/v1/${name}`,
    tag: "Lists",
    summary,
    description,
    security: "key",
    query,
    status: 200,
    answer,
    exports: true,
    errors: name.endsWith("}") ? [404, 422] : [422],
  };
}
