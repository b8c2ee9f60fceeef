/**
 * How many events a second one, two and three `processors` processes book from what waits on Kafka,
 * on the cores they share with everything else of this run.
 */
import { type Figure, short } from "./figures.js";
import { withInstallation } from "./installation.js";
import type { Options } from "./options.js";
import { processorSeconds } from "./processor-time.js";
import { sendSales } from "./sales-load.js";
import { createTenant, settled } from "./tenant.js";

const processesMax = 3;
const webhooksPerSecond = 200;

export function backlog({ events, profileFolder }: Options): Promise<Figure[]> {
  return withInstallation(profileFolder, async (installation) => {
    const { ingest, api, adminToken } = installation;
    const tenant = await createTenant({ base: api, adminToken });
    const perSecond: number[] = [];
    // The first is not counted: all that starts for the first time.
    for (const processes of [1, ...Array.from({ length: processesMax }, (_, index) => index + 1)]) {
      await installation.replaceProcessors(0, "SIGTERM");
      await sendSales({ base: ingest }, tenant, webhooksPerSecond, events, `s${perSecond.length}`);
      await installation.replaceProcessors(processes, "SIGTERM");
      const startedAt = performance.now();
      const before = await processorSeconds(installation.pids());
      await settled({ base: api }, tenant);
      const after = await processorSeconds(installation.pids());
      perSecond.push((events / (performance.now() - startedAt)) * 1_000);
      const costs = Object.entries(after).map(([process, total]) => {
        const perEvent = ((total - (before[process] ?? 0)) * 1_000) / events;
        return `${process} ${short(perEvent)}`;
      });
      console.log(`  ${processes}: ${short(perSecond.at(-1) ?? 0)}/s; ${costs.join(", ")} ms`);
    }
    const [, floor = 0] = perSecond;
    return perSecond.slice(1).map((value, index): Figure => {
      const name = `events booked from Kafka, ${index + 1} processes of processors`;
      return { name, value, unit: "/s", ...(index > 0 && { floor, target: { ratioMin: 1 } }) };
    });
  });
}
