/**
 * An even load for long: memory, parts of the tables and times at the end beside those at the
 * beginning. What grows with time and not with the rows shows here.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Figure, median, percentile, short } from "./figures.js";
import { ConnectionPool } from "./http-connection.js";
import { connectionsMax, openSocket, Run } from "./latency-run.js";
import { residentMiB } from "./memory.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { createTenant } from "./tenant.js";

const secondsPerSample = 60;
/** A run has so many; its first and its last are compared. A cold first sample is left out. */
const partsOfRun = 6;

interface Sample {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly residentMiB: number;
  readonly parts: number;
}

export function soak({ seconds, rate, profileFolder }: Options): Promise<Figure[]> {
  return withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), async (service) => {
      const tenant = await createTenant(service);
      const pool = new ConnectionPool(service.base, connectionsMax);
      const sides = { webhooks: pool, readers: pool, tenant };
      const socket = await openSocket(service.base, tenant);
      const samples: Sample[] = [];
      for (let sent = 0; sent < seconds; sent += secondsPerSample) {
        const run = new Run(sides, rate, `m${samples.length}`);
        await run.send(Math.min(secondsPerSample, seconds - sent));
        const resident = await residentMiB(service);
        const { reported } = await run.durations(service.base, socket.arrivals);
        // Each is asked for once: an hour's would be memory of this process.
        for (const arrivals of Object.values(socket.arrivals)) arrivals.clear();
        const sample = {
          p50Ms: percentile(reported, 0.5),
          p99Ms: percentile(reported, 0.99),
          residentMiB: resident,
          parts: partsIn(join(folder, "clickhouse", "store")),
        };
        samples.push(sample);
        console.log(`  ${samples.length}: ${Object.values(sample).map(short).join("  ")}`);
      }
      socket.close();
      pool.close();
      return figuresOf(samples.length > 1 ? samples.slice(1) : samples);
    }),
  );
}

/** The end's median beside the beginning's. */
function figuresOf(samples: readonly Sample[]): Figure[] {
  const some = Math.max(1, Math.floor(samples.length / partsOfRun));
  const figure = (name: string, unit: Figure["unit"], of: (one: Sample) => number): Figure => ({
    name: `${name}, at the end`,
    value: median(samples.slice(-some).map(of)),
    floor: median(samples.slice(0, some).map(of)),
    unit,
  });
  return [
    figure("2xx → on the socket, p50", "ms", ({ p50Ms }) => p50Ms),
    figure("2xx → on the socket, p99", "ms", ({ p99Ms }) => p99Ms),
    figure("resident", "MiB", ({ residentMiB: resident }) => resident),
    figure("folders of parts of the tables", "", ({ parts }) => parts),
  ];
}

/** Tables lie two folders deep, each part in a folder; those merged away for some minutes yet. */
function partsIn(store: string): number {
  const foldersIn = (path: string): string[] =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "detached")
      .map(({ name }) => join(path, name));
  return foldersIn(store).flatMap(foldersIn).flatMap(foldersIn).length;
}
