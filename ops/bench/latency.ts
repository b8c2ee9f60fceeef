/**
 * From the 2xx of a webhook to where people see it: the message on the socket, and the list of
 * transactions. Webhooks come at an even pace, so a slow moment delays nobody's clock.
 */
import { type Figure, percentile, short, spread } from "./figures.js";
import { ConnectionPool } from "./http-connection.js";
import { connectionsMax, openSocket, Run } from "./latency-run.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { measureStores } from "./store-floor.js";
import { createTenant, settled } from "./tenant.js";

const webhooksPerSecond = 200;
const warmUpSeconds = 5;
const cpuSeconds = "process_cpu_seconds_total";
const p50MsMax = 60;
const p99MsMax = 250;

export async function latency({ seconds, profileFolder }: Options): Promise<Figure[]> {
  const { roundsMs } = await withFolder(measureStores);
  console.log(`  floor: append, insert, select   ${spread(roundsMs)}`);
  const measured = await withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), async (service) => {
      const tenant = await createTenant(service);
      const pool = new ConnectionPool(service.base, connectionsMax);
      const sides = { webhooks: pool, readers: pool, tenant };
      const socket = await openSocket(service.base, tenant);
      try {
        await new Run(sides, webhooksPerSecond, "warm").send(warmUpSeconds);
        await settled(service, tenant);
        const run = new Run(sides, webhooksPerSecond, "run");
        const cpuBefore = await service.metric(cpuSeconds);
        await run.send(seconds);
        const cores = ((await service.metric(cpuSeconds)) - cpuBefore) / seconds;
        console.log(`  the service used ${short(cores)} cores`);
        return await run.durations(service.base, socket.arrivals);
      } finally {
        socket.close();
        pool.close();
      }
    }),
  );
  return [
    figuresOf("sent → 2xx", measured.answered),
    figuresOf("2xx → on the socket", measured.reported, roundsMs),
    figuresOf("2xx → with its product", measured.named, roundsMs),
    figuresOf("2xx → GET /v1/transactions", measured.readable, roundsMs),
  ].flat();
}

/** Figures with a floor have a target: the time from the answer until people see the event. */
function figuresOf(
  name: string,
  valuesMs: readonly number[],
  floorMs?: readonly number[],
): Figure[] {
  console.log(`  ${name.padEnd(30)}  ${spread(valuesMs)}`);
  const figure = (p: number, valueMax: number): Figure => ({
    name: `${name}, p${p * 100}`,
    value: percentile(valuesMs, p),
    unit: "ms",
    ...(floorMs ? { floor: percentile(floorMs, p), target: { valueMax } } : {}),
  });
  return [figure(0.5, p50MsMax), figure(0.99, p99MsMax)];
}
