/**
 * How many events a second one process books from a full topic: the raw topic is filled while no
 * service runs, then the whole of it starts and goes through.
 */
import { whenBooked } from "../demo/merchant.js";
import { recordPast } from "../demo/past.js";
import type { Figure, Options } from "./figures.js";
import { withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { StripeSales } from "./stripe-sales.js";

/** What the issue sets for raw events to rows and to the public topics. */
const perSecondMin = 15_000;
const cpuSeconds = "process_cpu_seconds_total";

export function processors({ events, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const lastAt = Date.now();
    const made = await recordPast(folder, full(events, lastAt), {
      baseCurrency: "EUR",
      since: lastAt - events,
      isSpread: true,
    });
    return withService(folder, nodeCommand(profileFolder), async (service) => {
      const looks: { readonly atMs: number; readonly booked: number }[] = [];
      const onProgress = (completeTo: number): void => {
        const booked = Math.max(0, Math.min(events, events + completeTo - lastAt));
        looks.push({ atMs: performance.now(), booked });
      };
      const cpuBefore = await service.metric(cpuSeconds);
      await whenBooked({ ...made, url: service.base.origin }, { onProgress });
      const cpu = (await service.metric(cpuSeconds)) - cpuBefore;
      const [first, last] = [looks[0], looks.find(({ booked }) => booked === events)];
      if (first === undefined || last === undefined) throw new Error("not all is booked");
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
          value: (cpu / count) * 1_000,
          unit: "ms",
        },
      ];
    });
  });
}

/** Received one millisecond apart, so that a `complete_to` says how many are booked. */
function full(events: number, lastAt: number) {
  const sales = new StripeSales("full");
  const receipts = Array.from({ length: events }, (_, index) => lastAt - events + index + 1);
  const queue = sales.products(lastAt - events);
  const deliveries = receipts.map((at) => {
    if (queue.length === 0) queue.push(...sales.next(at));
    const { body = Buffer.alloc(0) } = queue.shift() ?? {};
    return { at, provider: "stripe" as const, body };
  });
  return { deliveries, receipts };
}
