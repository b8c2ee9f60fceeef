/** `GET /v1/events/{event_id}`: what became of one raw event, hop by hop. */
import { requireKey } from "../../http/auth.js";
import { notFound } from "../../schemas/http/errors.js";
import { refuseParameters } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import { findReject } from "../../workspaces/rejects/rejects.js";
import type { Service } from "../../service.js";
import { limits } from "../../config.js";
import type { ReadApi } from "../reading/routes.js";
import type { Route } from "../route.js";
import { type EventAnswer, eventAnswer } from "./schema.js";
import { transactionId } from "../../schemas/ids.js";
import { factCodec, type Tenant } from "../../schemas/records/records.js";
import { type FoundEvent, findEvent, sealOf } from "./search.js";
import { factsOfEventQuery, type MoneyFactRow, paymentsOf } from "../transaction/payment-facts.js";
import { type ExplainedEvent, presentEvent } from "./presenter.js";
import {
  type ChangeRow,
  type EventMovementRow,
  eventChangesQuery,
  eventMovementsQuery,
} from "./subscriptions-query.js";
import { type EntryRow, eventEntriesQuery } from "../transaction/entries-query.js";
import { type VersionRow, eventVersionsQuery } from "../transaction/versions-query.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";

export const eventsRoute: Route<ReadApi> = {
  method: "get",
  path: "/v1/events/{event_id}",
  tag: "Lists",
  summary: "One raw event's way through the service, and all that was recorded under it",
  description: "Never its payload.",
  right: "read",
  status: 200,
  answer: eventAnswer,
  errors: [404],
  handlers: ({ service, catalogues }) => [
    requireKey(service, { scope: "read" }),
    async (ctx, next) => {
      const eventId = String(ctx["params"]["event_id"]);
      // `/v1/events/ingest` and `/v1/events/stream` are no events.
      if (!eventId.startsWith("evt_")) {
        await next();
        return;
      }
      const access = accessOf(ctx);
      refuseParameters(ctx);
      const clocks = await clocksOf(service, access);
      const found = await findEvent(service, access, eventId);
      if (found === null) throw notFound("event_not_found", "There is no such event.");
      const event = await explain(service, access, eventId, found);
      ctx.body = {
        status: "success",
        data: presentEvent(event, {
          catalogue: await catalogues.of(access.workspace, access.environment),
          baseCurrency: access.baseCurrency,
          completeTo: clocks.completeTo,
          deliveriesMax: limits.eventDeliveriesMax,
          rowsMax: limits.eventRowsMax,
        }),
        complete_to: completeText(clocks),
      } satisfies EventAnswer;
    },
  ],
};

/** One row more than is shown of each kind, to see whether there are more. */
const rowsMax = limits.eventRowsMax + 1;

async function explain(
  service: Service,
  tenant: Tenant,
  eventId: string,
  found: FoundEvent,
): Promise<ExplainedEvent> {
  const [reject, money, subscriptions, seals] = await Promise.all([
    findReject(service.clickhouse, tenant, eventId),
    explainMoney(service, tenant, eventId),
    explainSubscriptions(service, tenant, eventId),
    Promise.all(
      [...found.journal, ...found.waiting].map(({ partition, offset }) =>
        sealOf(service, eventId, partition, BigInt(offset)),
      ),
    ),
  ]);
  return { ...found, reject, ...money, ...subscriptions, seals };
}

async function explainMoney(service: Service, tenant: Tenant, eventId: string) {
  const rows = await rowsOf<MoneyFactRow>(service, factsOfEventQuery(tenant, eventId, rowsMax));
  const read = rows.map(({ fact }) => factCodec.fromText(fact));
  // A link lies under both of its keys.
  const facts = [...new Map(read.map((fact) => [fact.fact_id, fact])).values()];
  const provider = facts[0]?.provider;
  if (provider === undefined) return { facts, entries: [], versions: [] };
  const keys = rows.map(({ key }) => key);
  const payments = await paymentsOf(service.clickhouse, tenant, provider, keys);
  const { workspace, environment } = tenant;
  const [entries, versions] = await Promise.all([
    rowsOf<EntryRow>(
      service,
      eventEntriesQuery(
        tenant,
        eventId,
        payments.map((payment) => `${provider}:${payment}`),
        rowsMax,
      ),
    ),
    rowsOf<VersionRow>(
      service,
      eventVersionsQuery(
        tenant,
        eventId,
        payments.map((payment) => transactionId(workspace, environment, provider, payment)),
        rowsMax,
      ),
    ),
  ]);
  return { facts, entries, versions };
}

async function explainSubscriptions(service: Service, tenant: Tenant, eventId: string) {
  const changes = await rowsOf<ChangeRow>(service, eventChangesQuery(tenant, eventId, rowsMax));
  const accounts = [...new Set(changes.map(({ account }) => account))];
  if (accounts.length === 0) return { changes, movements: [] };
  const movements = await rowsOf<EventMovementRow>(
    service,
    eventMovementsQuery(tenant, eventId, accounts, rowsMax),
  );
  return { changes, movements };
}
