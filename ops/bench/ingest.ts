/**
 * Events accepted a second in batches of NDJSON, all durable, against a bare Koa that reads the
 * same bytes and parses each line. Booking runs behind our endpoint, on the same cores.
 */
import { randomUUID } from "node:crypto";
import { type Figure, median, short } from "./figures.js";
import { requestBytes } from "./http-connection.js";
import { sendClosedLoop } from "./load.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { createIngestKey, createTenant, settled } from "./tenant.js";
import { withFloor } from "./webhooks.js";

const roundSeconds = 5;
const linesPerBatch = 1_000;
/** More than are accepted in a round, so that no event is sent twice. */
const batchesPerRound = 250;
const connections = 4;
const perSecondMin = 15_000;

export function ingest({ rounds, profileFolder }: Options): Promise<Figure[]> {
  return withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), (service) =>
      withFloor("ndjson", async (koa) => {
        const tenant = await createTenant(service);
        const authorization = await createIngestKey(service, tenant.workspace);
        const rates: Record<"ours" | "koa", number[]> = { ours: [], koa: [] };
        // The first round warms both up and is not counted.
        for (let round = 0; round <= rounds; round += 1) {
          if (round === 1) for (const list of Object.values(rates)) list.length = 0;
          const requests = Array.from({ length: batchesPerRound }, () => batch(authorization));
          for (const [name, base] of [
            ["koa", koa],
            ["ours", service.base],
          ] as const) {
            const batches = await sendClosedLoop(base, requests, roundSeconds, connections);
            rates[name].push(batches * linesPerBatch);
          }
          await settled(service, tenant);
          const shown = Object.entries(rates).map(
            ([name, all]) => `${name} ${short(all.at(-1) ?? 0)}/s`,
          );
          console.log(`  ${round === 0 ? "warm-up" : `round ${round}`}: ${shown.join(", ")}`);
        }
        return [
          {
            name: "events ingested as NDJSON",
            value: median(rates.ours),
            unit: "/s",
            floor: median(rates.koa),
            target: { valueMin: perSecondMin },
          },
        ];
      }),
    ),
  );
}

function batch(authorization: string): Buffer {
  const headers = { authorization, "Content-Type": "application/x-ndjson" };
  const lines = Array.from({ length: linesPerBatch }, (_, index) =>
    JSON.stringify({
      provider: "custom",
      event_type: "transaction.sale",
      event_id: randomUUID(),
      customer_id: randomUUID(),
      amount: 10 + (index % 90) + 0.5,
      currency: index % 3 === 0 ? "USD" : "EUR",
      customer_country: "DE",
      product_id: `course-${index % 20}`,
    }),
  );
  return requestBytes("POST", "/v1/events/ingest", headers, Buffer.from(lines.join("\n")));
}
