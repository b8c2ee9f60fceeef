/**
 * Signed webhooks accepted per second, all durable, against bare handlers that read
 * the same bytes, check the HMAC and parse the JSON. The whole service runs behind our endpoint, so
 * what it took is booked meanwhile, on the same cores as the load generator.
 */
import { type Figure, median, short } from "./figures.js";
import { portMessage } from "./webhooks-floor.js";
import { sendClosedLoop } from "./load.js";
import type { Options } from "./options.js";
import { withChild, withFolder } from "./processes.js";
import { type RunningService, nodeCommand, withService } from "./service.js";
import { StripeSales } from "./stripe-sales.js";
import { createTenant, settled, webhookRequest } from "./tenant.js";

const roundSeconds = 4;
/** More than the endpoint accepts in a round, so that no event is sent twice. */
const requestsPerRound = 24_000;
const ratioMin = 0.4;

export function webhooks({ rounds, profileFolder }: Options): Promise<Figure[]> {
  return withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), (service) =>
      withFloor("koa", (koa) =>
        withFloor("http", async (http) => {
          const tenant = await createTenant(service);
          const rates: Record<"ours" | "koa" | "http", number[]> = { ours: [], koa: [], http: [] };
          const measure = async (name: keyof typeof rates, base: URL, requests: Buffer[]) => {
            const rate = await sendClosedLoop(base, requests, roundSeconds);
            rates[name].push(rate);
            return `${name} ${short(rate)}/s`;
          };
          // The first round warms every server up and is not counted.
          for (let round = 0; round <= rounds; round += 1) {
            if (round === 1) for (const list of Object.values(rates)) list.length = 0;
            const requests = requestsOf(new StripeSales(`r${round}`), tenant.webhookPath);
            const shown = [await measure("koa", koa, requests)];
            const waited = await appendTimes(service);
            shown.push(await measure("ours", service.base, requests), await waited.mean());
            const bookedAt = performance.now();
            await settled(service, tenant);
            const booked = `booked ${short((performance.now() - bookedAt) / 1_000)} s later`;
            shown.push(await measure("http", http, requests), booked);
            console.log(`  ${round === 0 ? "warm-up" : `round ${round}`}: ${shown.join(", ")}`);
          }
          const ours = median(rates.ours);
          return [
            {
              name: "webhooks, against bare Koa",
              value: ours,
              unit: "/s",
              floor: median(rates.koa),
              target: { ratioMin },
            },
            {
              name: "webhooks, against bare node:http",
              value: ours,
              unit: "/s",
              floor: median(rates.http),
            },
          ];
        }),
      ),
    ),
  );
}

export function withFloor<T>(
  kind: "koa" | "http" | "ndjson",
  use: (base: URL) => Promise<T>,
): Promise<T> {
  return withChild("webhooks-floor", [kind], (message) =>
    use(new URL(`http://127.0.0.1:${portMessage.parse(message).port}`)),
  );
}

/** The part of the answer time spent waiting for the log. */
async function appendTimes(service: RunningService): Promise<{ mean(): Promise<string> }> {
  const read = () =>
    Promise.all(
      ["sum", "count"].map((part) => service.metric(`revenue_log_append_duration_seconds_${part}`)),
    );
  const [sumBefore = 0, countBefore = 0] = await read();
  return {
    async mean() {
      const [sum = 0, count = 0] = await read();
      return `append ${short(((sum - sumBefore) * 1_000) / (count - countBefore))} ms`;
    },
  };
}

/** Signed before the round: only sending is measured. */
function requestsOf(sales: StripeSales, path: string): Buffer[] {
  const now = Date.now();
  const requests: Buffer[] = [];
  while (requests.length < requestsPerRound) {
    for (const event of sales.next(now)) requests.push(webhookRequest(path, event.body));
  }
  return requests;
}
