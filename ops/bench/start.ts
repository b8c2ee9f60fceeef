/** How long a person waits: from the command to the first 200 of `/readyz`. */
import { below, type Figure, median, short } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { sendSales } from "./sales-load.js";
import { nodeCommand, npmStart, withService } from "./service.js";
import { openStoresMs } from "./store-floor.js";
import { createTenant, settled } from "./tenant.js";

const dataEvents = 2_000;
const dataEventsPerSecond = 200;
const existingMsMax = 5_000;

export async function start({ rounds }: Options): Promise<Figure[]> {
  const floor = await withFolder(async (folder) => {
    await openStoresMs(folder);
    return openStoresMs(folder);
  });
  const valuesMs = await withFolder(async (folder) => {
    await fill(folder);
    return times(rounds, () => withService(folder, npmStart, async (service) => service.readyMs));
  });
  console.log(`  ${valuesMs.map(short).join(", ")} ms`);
  return [below(existingMsMax, "npm start, existing folder", median(valuesMs), "ms", floor)];
}

async function times(rounds: number, measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measure());
  return values;
}

async function fill(folder: string): Promise<void> {
  await withService(folder, nodeCommand(), async (service) => {
    const tenant = await createTenant(service);
    await sendSales(service, tenant, dataEventsPerSecond, dataEvents);
    await settled(service, tenant);
  });
}
