/**
 * The roles apart, over Kafka, ClickHouse and Postgres of this run's own: from the 2xx of a webhook
 * to where people see it, and how long that takes when the only processor dies (kill -9) and is
 * started again at once, as a supervisor does.
 */
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { below, type Figure, latencies, type Options, short, spread } from "./figures.js";
import { withInstallation } from "./installation.js";
import { createTenant } from "./tenant.js";
import { withTraffic } from "./traffic.js";

const warmUpSeconds = 5;
const maxMs = { p99: 500 };
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
      return [
        ...latencies(`servers, ${rate}/s, 2xx → on the socket`, reported, maxMs),
        ...latencies(`servers, ${rate}/s, 2xx → GET /v1/transactions`, readable, maxMs),
        below(
          recoveryMsMax,
          "servers, the latest event around kill -9 of the processor",
          Math.max(...killed.reported),
        ),
      ];
    });
  });
}

/**
 * Processor time of processes and all they started, as `ps` reports it.
 * @param pids by name
 * @returns seconds by name, whole ones
 */
async function processorSeconds(
  pids: Readonly<Record<string, number>>,
): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)("ps", ["-e", "-o", "pid=,ppid=,cputimes="]);
  const all = stdout
    .trim()
    .split("\n")
    .map((line) => {
      const [pid = 0, parent = 0, seconds = 0] = line.trim().split(/\s+/).map(Number);
      return { pid, parent, seconds };
    });
  const secondsOf = (pid: number): number => {
    const own = all.find((one) => one.pid === pid)?.seconds ?? 0;
    const children = all.filter(({ parent }) => parent === pid);
    return children.reduce((sum, child) => sum + secondsOf(child.pid), own);
  };
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, secondsOf(pid)]));
}
