/**
 * What an event costs as an installation grows: the same number of events from ten and a hundred
 * times as many workspaces, integrations or products, whose names are known. Each beside the
 * smallest of the same run.
 */
import { type Booked, bookTopic } from "./processors.js";
import { type Figure, short } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { addStripe, createTenant } from "./tenant.js";

interface Size {
  readonly workspaces: number;
  /** Of each workspace. */
  readonly integrations: number;
  /** Of each integration. */
  readonly products: number;
}

const smallest: Size = { workspaces: 1, integrations: 1, products: 20 };
const sizes: Readonly<Record<string, Size>> = {
  "10 workspaces": { ...smallest, workspaces: 10 },
  "100 workspaces": { ...smallest, workspaces: 100 },
  "10 integrations": { ...smallest, integrations: 10 },
  "100 integrations": { ...smallest, integrations: 100 },
  "200 products": { ...smallest, products: 200 },
  "2,000 products": { ...smallest, products: 2_000 },
};

export async function growth({ events, profileFolder }: Options): Promise<Figure[]> {
  const measure = async (name: string, size: Size): Promise<Booked> => {
    console.log(`  ${name}`);
    return withFolder((folder) => bookedAt(folder, size, { events, profileFolder }));
  };
  // The first run of a machine is slower than the next.
  await measure("warming up", smallest);
  const floor = await measure("1 workspace, 1 integration, 20 products", smallest);
  const figures: Figure[] = [];
  for (const [name, size] of Object.entries(sizes)) {
    const booked = await measure(name, size);
    console.log(`  ${short(booked.all)} events a second; before ${short(floor.all)}`);
    figures.push({
      name: `processor time an event, ${name}`,
      value: booked.cpuMs,
      floor: floor.cpuMs,
      unit: "ms",
    });
  }
  return figures;
}

async function bookedAt(
  folder: string,
  { workspaces, integrations, products }: Size,
  { events, profileFolder }: Pick<Options, "events" | "profileFolder">,
): Promise<Booked> {
  const tenants = await withService(folder, nodeCommand(), async (service) => {
    const made = [];
    while (made.length < workspaces) {
      const tenant = await createTenant(service);
      for (let more = 1; more < integrations; more += 1) {
        await addStripe(service, tenant.workspace);
      }
      made.push(tenant);
    }
    return made;
  });
  const [first] = tenants;
  if (first === undefined) throw new Error("no workspace was asked for");
  const all = { workspaces: tenants.map(({ workspace }) => workspace), products };
  const named = { ...all, only: "products", events: workspaces * integrations * products } as const;
  await bookTopic(folder, first, { filling: named, profileFolder: null });
  const sold = { ...all, only: "sales", events } as const;
  return bookTopic(folder, first, { filling: sold, profileFolder });
}
