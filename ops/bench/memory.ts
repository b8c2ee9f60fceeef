/**
 * Resident memory of the service while it takes and books an hour's worth of events, sent faster
 * than they would come, and after it has settled.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Figure, short } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { sendSales } from "./sales-load.js";
import { type RunningService, nodeCommand, withService } from "./service.js";
import { createTenant, settled } from "./tenant.js";

const webhooksPerSecond = 150;
const sampleMs = 3_000;
/** After the last event is booked. */
const settleMs = 15_000;
const residentMiBMax = 1_024;

export function memory({ events, profileFolder }: Options): Promise<Figure[]> {
  return withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), async (service) => {
      const tenant = await createTenant(service);
      const idle = await residentMiB(service);
      const samples = sampled(service);
      await sendSales(service, tenant, webhooksPerSecond, events);
      await settled(service, tenant);
      await pause(settleMs);
      const seen = await samples.stop();
      console.log(`  idle ${short(idle)} MiB; then ${seen.map(short).join(", ")} MiB`);
      const target = { valueMax: residentMiBMax };
      return [
        {
          name: "resident after an hour's events",
          value: seen.at(-1) ?? Number.NaN,
          unit: "MiB",
          floor: idle,
          target,
        },
        { name: "resident at most", value: Math.max(...seen), unit: "MiB", floor: idle, target },
      ];
    }),
  );
}

/** A sample every `sampleMs`, and one more at the stop. */
function sampled(service: RunningService): { stop(): Promise<number[]> } {
  const stopping = new AbortController();
  const running = (async () => {
    const samples: number[] = [];
    while (!stopping.signal.aborted) {
      await pause(sampleMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      samples.push(await residentMiB(service));
    }
    return samples;
  })();
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}

export async function residentMiB(service: RunningService): Promise<number> {
  return (await service.metric("process_resident_memory_bytes")) / 1024 / 1024;
}
