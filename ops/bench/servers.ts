/**
 * The roles apart, over Kafka, ClickHouse and Postgres of this run's own: from the 2xx of a webhook
 * to where people see it, and how long that takes when the only processor dies (kill -9) and is
 * started again at once, as a supervisor does.
 */
import { setTimeout as pause } from "node:timers/promises";
import { below, type Figure, percentile, short, spread } from "./figures.js";
import { withInstallation } from "./installation.js";
import type { Options } from "./options.js";
import { processorSeconds } from "./processor-time.js";
import { createTenant } from "./tenant.js";
import { withTraffic } from "./traffic.js";

const warmUpSeconds = 5;
const p99MsMax = 500;
/** The load while the processor dies: less than it books, so that only its death is measured. */
const killedPerSecond = 30;
const killedSeconds = 30;
const killedAfterMs = 8_000;
const recoveryMsMax = 15_000;

export function servers({ seconds, rate, profileFolder }: Options): Promise<Figure[]> {
  return withInstallation(profileFolder, async (installation) => {
    const { ingest, api: base, adminToken } = installation;
    const tenant = await createTenant({ base, adminToken });
    return withTraffic({ base, ingest }, tenant, async (begin) => {
      const measure = async (name: string, perSecond: number, forSeconds: number) => {
        const run = begin(name, perSecond);
        await run.send(forSeconds);
        return run.durations();
      };
      await measure("warm", killedPerSecond, warmUpSeconds);
      const killing = pause(killedAfterMs).then(() => installation.replaceProcessors());
      const killed = await measure("killed", killedPerSecond, killedSeconds);
      await killing;
      const before = await processorSeconds(installation.pids());
      const paced = await measure("paced", rate, seconds);
      const after = await processorSeconds(installation.pids());
      const costs = Object.entries(after).map(([process, total]) => {
        const perEvent = ((total - (before[process] ?? 0)) * 1_000) / paced.answered.length;
        return `${process} ${short(perEvent)}`;
      });
      console.log(`  at ${rate}/s, processor time an event: ${costs.join(", ")} ms`);
      console.log(`  at ${rate}/s, sent → 2xx           ${spread(paced.answered)}`);
      console.log(`  at ${rate}/s, 2xx → on the socket  ${spread(paced.reported)}`);
      const { reported, readable } = paced;
      const name = (what: string) => `servers, ${rate}/s, ${what}`;
      return [
        below(null, name("2xx → on the socket, p50"), percentile(reported, 0.5)),
        below(p99MsMax, name("2xx → on the socket, p99"), percentile(reported, 0.99)),
        below(null, name("2xx → GET /v1/transactions, p50"), percentile(readable, 0.5)),
        below(p99MsMax, name("2xx → GET /v1/transactions, p99"), percentile(readable, 0.99)),
        below(
          recoveryMsMax,
          "servers, the latest event around kill -9 of the processor",
          Math.max(...killed.reported),
        ),
      ];
    });
  });
}
