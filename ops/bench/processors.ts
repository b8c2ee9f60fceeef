/**
 * How many events a second one process books from a full topic: the raw topic is filled while the
 * service is stopped, then the whole of it starts and goes through.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { type Figure, short } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { type Filling, type Progress, fillTopic } from "./raw-topic.js";
import { type RunningService, nodeCommand, withService } from "./service.js";
import { type Tenant, createTenant } from "./tenant.js";

/** What the issue sets for raw events to rows and to the public topics. */
const perSecondMin = 15_000;
const bookedMsMax = 600_000;
const pollMs = 500;

export function processors({ events, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), createTenant);
    const { money, all, cpuMs } = await bookTopic(folder, tenant, {
      filling: { workspaces: [tenant.workspace], events },
      profileFolder,
    });
    const target = { valueMin: perSecondMin };
    return [
      { name: "events booked from a full topic, transactions", value: money, unit: "/s", target },
      { name: "events booked from a full topic, MRR too", value: all, unit: "/s", target },
      { name: "processor time an event, all of it", value: cpuMs, unit: "ms" },
    ];
  });
}

interface Booked {
  /** Events a second until all transactions are there, and until MRR knows of all. */
  readonly money: number;
  readonly all: number;
  /** Processor time of the service for an event. */
  readonly cpuMs: number;
}

/** Fills the topic of a service that is not running, starts it and waits until all is booked. */
async function bookTopic(
  folder: string,
  tenant: Tenant,
  { filling, profileFolder }: { filling: Filling; profileFolder: string | null },
): Promise<Booked> {
  const progress = await fillTopic(folder, filling);
  return withService(folder, nodeCommand(profileFolder), async (service) => {
    const first = await lookAt(service, tenant, progress);
    const money = await booked(service, tenant, progress, "/v1/transactions?limit=1");
    const all = await booked(service, tenant, progress, "/v1/metrics/mrr");
    const perSecond = (last: Seen) =>
      ((last.booked - first.booked) / (last.atMs - first.atMs)) * 1_000;
    const seconds = all.cpuSeconds - first.cpuSeconds;
    const cpuMs = (seconds / (progress.events - first.booked)) * 1_000;
    console.log(`  first look at ${first.booked}; processor time an event ${short(cpuMs)} ms`);
    return { money: perSecond(money), all: perSecond(all), cpuMs };
  });
}

interface Seen {
  readonly atMs: number;
  /** Events, of those in the topic. */
  readonly booked: number;
  readonly cpuSeconds: number;
}

async function lookAt(
  service: RunningService,
  tenant: Tenant,
  progress: Progress,
  path = "/v1/metrics/mrr",
): Promise<Seen> {
  const answer = await fetch(new URL(path, service.base), {
    headers: { authorization: tenant.authorization },
  });
  const { complete_to: completeTo } = completeAnswer.parse(await answer.json());
  return {
    atMs: performance.now(),
    booked: progress.bookedAt(Date.parse(completeTo)),
    cpuSeconds: await service.metric("process_cpu_seconds_total"),
  };
}

const completeAnswer = z.object({ complete_to: z.iso.datetime() });

/** @throws when it takes too long */
async function booked(
  service: RunningService,
  tenant: Tenant,
  progress: Progress,
  path: string,
): Promise<Seen> {
  const deadline = performance.now() + bookedMsMax;
  while (performance.now() < deadline) {
    const seen = await lookAt(service, tenant, progress, path);
    if (seen.booked === progress.events) return seen;
    await pause(pollMs);
  }
  throw new Error(`not booked within ${bookedMsMax} ms`);
}
