/**
 * How fast a provider's history is read and booked beside an API that answers at once, and how late
 * the events of another workspace are meanwhile.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { textOf } from "../../providers/fields.js";
import { backfill as backfillShape } from "../../schemas/http/manage.js";
import type { JsonObject } from "../payloads/stripe.js";
import { withFee } from "../payloads/stripe-money.js";
import { below, type Figure, type Options, percentile, short, spread } from "./figures.js";
import { portMessage } from "./processes.js";
import { StripeSales } from "./stripe-sales.js";
import { type RunningService, withNewService } from "./service.js";
import { createTenant, manage, type Tenant } from "./tenant.js";
import { withTraffic } from "./traffic.js";

const cpuSeconds = "process_cpu_seconds_total";
const apiKey = "rk_live_of_the_benchmark";
const historyDays = 300;
const dayMs = 24 * 60 * 60 * 1000;
const pageObjects = 100;
/** The pace that is kept with Stripe would be what is measured. */
const noPace = "1000";
/** Webhooks of the other workspace. */
const othersPerSecond = 10;
const feeMinor = 30;
const lookEveryMs = 500;
const paymentsPerSecondMin = 1_000;
const othersLateMsMax = 2_000;

export async function backfill({ events, profileFolder }: Options): Promise<Figure[]> {
  const to = Date.now() - dayMs;
  const from = to - historyDays * dayMs;
  const api = await serveHistory(events, from, to);
  try {
    return await withNewService(
      profileFolder,
      async (service) => {
        const tenant = await createTenant(service, apiKey);
        const other = await createTenant(service);
        return withTraffic(service, other, async (begin) => {
          const run = begin("other", othersPerSecond);
          const startedAt = performance.now();
          const before = await service.metric(cpuSeconds);
          const reading = { isOver: false };
          const ended = readHistory(service, tenant, from).finally(() => (reading.isOver = true));
          while (!reading.isOver) await run.send(1);
          const residentMax = await ended;
          const seconds = (performance.now() - startedAt) / 1_000;
          const cpu = (await service.metric(cpuSeconds)) - before;
          const { readable } = await run.durations();
          console.log(`  ${events} payments, ${api.calls()} calls, in ${short(seconds)} s`);
          console.log(`  others: 2xx → list  ${spread(readable)}`);
          return [
            {
              name: "payments of a history, read, booked and compared",
              value: events / seconds,
              unit: "/s",
              target: { valueMin: paymentsPerSecondMin },
            },
            below(
              othersLateMsMax,
              "2xx → list of others meanwhile, p99",
              percentile(readable, 0.99),
            ),
            below(null, "processor time a payment", (cpu * 1_000) / events),
            below(null, "resident at most", residentMax / 1024 / 1024, "MiB"),
          ];
        });
      },
      { STRIPE_API_URL: api.url, PROVIDER_CALLS_PER_SECOND: noPace },
    );
  } finally {
    api.close();
  }
}

/**
 * Resolves when it is booked and agrees.
 * @returns resident bytes at most
 * @throws when it ends otherwise
 */
async function readHistory(
  service: RunningService,
  { integrationPath }: Tenant,
  from: number,
): Promise<number> {
  const path = `${integrationPath}/backfill`;
  let residentMax = 0;
  await manage(service, path, { from: new Date(from).toISOString() }, backfillShape);
  for (;;) {
    const { state, problem } = await manage(service, path, null, backfillShape);
    residentMax = Math.max(residentMax, await service.metric("process_resident_memory_bytes"));
    if (state === "done") return residentMax;
    if (state !== "reading" && state !== "comparing") {
      throw new Error(`the backfill ended as ${state}: ${problem}`);
    }
    await pause(lookEveryMs);
  }
}

/** Lists as Stripe's API has them: newest first, a page after the id that is given. */
async function serveHistory(payments: number, from: number, to: number) {
  let calls = 0;
  const sales = new StripeSales("history");
  const lists: Readonly<Record<string, JsonObject[]>> = {
    "/v1/charges": [],
    "/v1/invoices": [],
    "/v1/invoice_payments": [],
  };
  for (let index = 0; index < payments; index += 1) {
    for (const { object } of sales.next(from + Math.floor(((to - from) * index) / payments))) {
      const listed = object.object === "charge" ? withFee(object, feeMinor) : object;
      lists[`/v1/${textOf(object.object)}s`]?.push(listed);
    }
  }
  const server = createServer((request, response) => {
    calls += 1;
    const { pathname, searchParams } = new URL(request.url ?? "", "http://stripe.bench");
    if (pathname.startsWith("/v1/products/")) {
      response.writeHead(404).end("{}");
      return;
    }
    const objects = lists[pathname] ?? [];
    const after = searchParams.get("starting_after");
    const last = after === null ? objects.length : objects.findIndex(({ id }) => id === after);
    const first = Math.max(0, last - pageObjects);
    const data = objects.slice(first, last).reverse();
    const page = { object: "list", data, has_more: first > 0 };
    response.setHeader("content-type", "application/json").end(JSON.stringify(page));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = portMessage.parse(server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    close: () => server.close(),
  };
}
