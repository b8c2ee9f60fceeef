/**
 * How many events a second one process books from a full topic: the raw topic is filled while the
 * service is stopped, then the whole of it starts and goes through.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { Figure } from "./figures.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { type Progress, fillTopic } from "./raw-topic.js";
import { type RunningService, nodeCommand, withService } from "./service.js";
import { type Tenant, createTenant } from "./tenant.js";

/** What the issue sets for raw events to rows and to the public topics. */
const perSecondMin = 15_000;
const bookedMsMax = 600_000;
const pollMs = 500;

export function processors({ events, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), createTenant);
    const progress = await fillTopic(folder, tenant.workspace, events);
    return withService(folder, nodeCommand(profileFolder), async (service) => {
      const first = await lookAt(service, tenant, progress);
      const last = await booked(service, tenant, progress);
      const count = last.booked - first.booked;
      return [
        {
          name: "events booked from a full topic, with all figures",
          value: (count / (last.atMs - first.atMs)) * 1_000,
          unit: "/s",
          target: { valueMin: perSecondMin },
        },
        {
          name: "processor time an event, all of it",
          value: ((last.cpuSeconds - first.cpuSeconds) / count) * 1_000,
          unit: "ms",
        },
      ];
    });
  });
}

interface Seen {
  readonly atMs: number;
  /** Events, of those in the topic. */
  readonly booked: number;
  readonly cpuSeconds: number;
}

async function lookAt(service: RunningService, tenant: Tenant, progress: Progress): Promise<Seen> {
  const answer = await fetch(new URL("/v1/metrics/mrr", service.base), {
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
async function booked(service: RunningService, tenant: Tenant, progress: Progress): Promise<Seen> {
  const deadline = performance.now() + bookedMsMax;
  while (performance.now() < deadline) {
    const seen = await lookAt(service, tenant, progress);
    if (seen.booked === progress.events) return seen;
    await pause(pollMs);
  }
  throw new Error(`not booked within ${bookedMsMax} ms`);
}
