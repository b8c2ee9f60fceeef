/** How long a person waits: from the command to the first 200 of `/readyz`. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFile } from "../../runtime/project-root.js";
import { type Figure, median, short } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { sendSales } from "./sales-load.js";
import { type Command, nodeCommand, npmStart, withService } from "./service.js";
import { measureStores } from "./store-floor.js";
import { createTenant, settled } from "./tenant.js";

const dataEvents = 2_000;
const dataEventsPerSecond = 200;
const existingMsMax = 5_000;

export async function start({ rounds }: Options): Promise<Figure[]> {
  const stores = await withFolder(async (folder) => ({
    fresh: (await measureStores(join(folder, "stores"))).openMs,
    existing: (await measureStores(join(folder, "stores"))).openMs,
  }));
  const fresh = await times(rounds, () => withFolder((folder) => readyMs(folder, nodeCommand())));
  const { existing, whole } = await withFolder(async (folder) => {
    await fill(folder);
    return {
      existing: await times(rounds, () => readyMs(folder, nodeCommand())),
      whole: await times(rounds, () => readyMs(folder, npmStart)),
    };
  });
  const build = await times(rounds, noopBuildMs);
  return [
    figure("start, fresh folder", fresh, stores.fresh),
    figure("start, existing folder", existing, stores.existing),
    { ...figure("npm start, existing folder", whole, stores.existing), target },
    figure("of that, npm run build with nothing to do", build),
  ];
}

const target = { valueMax: existingMsMax };

function figure(name: string, valuesMs: readonly number[], floor?: number): Figure {
  console.log(`  ${name}: ${valuesMs.map(short).join(", ")} ms`);
  const value = median(valuesMs);
  return { name, value, unit: "ms", ...(floor === undefined ? {} : { floor }) };
}

async function times(rounds: number, measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measure());
  return values;
}

function readyMs(folder: string, command: Command): Promise<number> {
  return withService(folder, command, async (service) => service.readyMs);
}

async function noopBuildMs(): Promise<number> {
  const startedAt = performance.now();
  await promisify(execFile)("npm", ["run", "build", "--silent"], { cwd: projectFile() });
  return performance.now() - startedAt;
}

async function fill(folder: string): Promise<void> {
  await withService(folder, nodeCommand(), async (service) => {
    const tenant = await createTenant(service);
    await sendSales(service, tenant, dataEventsPerSecond, dataEvents);
    await settled(service, tenant);
  });
}
