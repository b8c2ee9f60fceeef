/** How long a person waits: from the command to the first 200 of `/readyz`. */
import { below, type Figure, median, type Options, short } from "./figures.js";
import { withFolder } from "./processes.js";
import { sendSales } from "./traffic.js";
import { nodeCommand, npmStart, withService } from "./service.js";
import { createTenant, settled } from "./tenant.js";

const dataEvents = 2_000;
const dataEventsPerSecond = 200;
const existingMsMax = 5_000;

export function start({ rounds }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    await withService(folder, nodeCommand(), async (service) => {
      const tenant = await createTenant(service);
      await sendSales(service.base, tenant, dataEventsPerSecond, dataEvents);
      await settled(service, tenant);
    });
    const valuesMs: number[] = [];
    while (valuesMs.length < rounds) {
      valuesMs.push(await withService(folder, npmStart, async ({ readyMs }) => readyMs));
    }
    console.log(`  ${valuesMs.map(short).join(", ")} ms`);
    return [below(existingMsMax, "npm start, existing folder", median(valuesMs))];
  });
}
