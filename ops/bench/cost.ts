/**
 * What one process with embedded stores takes of a processor: at rest, and for an event at a few,
 * some and many webhooks a second; beside it how long people wait for what they see. Latency in the
 * list is measured apart, since looking for a payment there costs more than booking it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { below, type Figure, latencies, type Options, short, spread } from "./figures.js";
import { withNewService } from "./service.js";
import { createTenant, settled } from "./tenant.js";
import { withTraffic } from "./traffic.js";

const rates = [2, 20, 200] as const;
const warmUp = { perSecond: 100, seconds: 8 } as const;
/** What a start leaves to be done, and the last webhooks. */
const calmMs = 20_000;
/** From the last webhook until all of it is written. */
const tailMs = 2_000;
const cpuSeconds = "process_cpu_seconds_total";

const restPercentMax = 1.5;
const eventMsMax: Readonly<Record<number, number>> = { 2: 40, 20: 5, 200: 1.5 };

export function cost({ seconds, profileFolder }: Options): Promise<Figure[]> {
  return withNewService(profileFolder, async (service) => {
    const tenant = await createTenant(service);
    const usedMs = async (during: () => Promise<unknown>): Promise<number> => {
      const before = await service.metric(cpuSeconds);
      await during();
      return ((await service.metric(cpuSeconds)) - before) * 1_000;
    };
    return withTraffic(service, tenant, async (begin) => {
      await begin("warm", warmUp.perSecond).send(warmUp.seconds);
      await settled(service, tenant);
      await pause(calmMs);
      const restShare = (await usedMs(() => pause(seconds * 1_000))) / (seconds * 1_000);
      console.log(`  at rest: ${short(restShare * 100)} % of a core`);
      const figures: Figure[] = [below(restPercentMax, "processor, at rest", restShare * 100, "%")];
      for (const rate of rates) {
        const run = begin(`r${rate}`, rate, { sold: true, probes: false });
        const used = await usedMs(async () => {
          await run.send(seconds);
          await pause(tailMs);
        });
        const eventMs = (used - restShare * tailMs) / (rate * seconds);
        const { reported } = await run.durations();
        const probed = begin(`p${rate}`, rate, { sold: true });
        await probed.send(seconds);
        const { readable } = await probed.durations();
        console.log(`  ${rate}/s: ${short(eventMs)} ms of a core for an event`);
        console.log(`    2xx → socket  ${spread(reported)}`);
        console.log(`    2xx → list    ${spread(readable)}`);
        figures.push(
          below(eventMsMax[rate] ?? null, `processor, an event at ${rate}/s`, eventMs),
          ...latencies(`2xx → socket at ${rate}/s`, reported),
          ...latencies(`2xx → list at ${rate}/s`, readable),
        );
      }
      return figures;
    });
  });
}
