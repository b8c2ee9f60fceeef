/**
 * Webhooks of a provider, and the socket of the dashboard, while what they lead to is sent to
 * receivers of the same workspace: to none, to quick ones, and to slow and dead ones, one after the
 * other in each round. Whoever is slow must delay nobody.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { webhookEndpoint } from "../../schemas/http/outbound/webhooks.js";
import { type Figure, latencies, type Options, spread } from "./figures.js";
import { portMessage } from "./processes.js";
import { withNewService } from "./service.js";
import { createTenant, manage, settled } from "./tenant.js";
import { withTraffic } from "./traffic.js";

const webhooksPerSecond = 20;
const warmUpSeconds = 5;
/** Nobody listens at this port. */
const deadUrl = "http://127.0.0.1:9/";
const slowAnswerMs = 20_000;
const events = ["transaction.recorded", "transaction.updated"];
const outbound = { OUTBOUND_PRIVATE_ADDRESSES: "on" };

export function receivers({ seconds, rounds, profileFolder }: Options): Promise<Figure[]> {
  return withNewService(
    profileFolder,
    async (service) => {
      const tenant = await createTenant(service);
      const [quick, slow] = [await openReceiver(0), await openReceiver(slowAnswerMs)];
      const kinds = [
        { name: "no receivers", urls: [] },
        { name: "8 quick receivers", urls: repeated(8, quick.url) },
        {
          name: "4 slow and 4 dead receivers",
          urls: [...repeated(4, slow.url), ...repeated(4, deadUrl)],
        },
      ].map((kind) => ({ ...kind, answered: newTimes(), reported: newTimes() }));
      const path = `/${tenant.workspace}/webhooks`;
      await withTraffic(service, tenant, async (begin) => {
        await begin("warm", webhooksPerSecond).send(warmUpSeconds);
        await settled(service, tenant);
        for (let round = 0; round < rounds; round += 1) {
          for (const { name, urls, answered, reported } of kinds) {
            const ids: string[] = [];
            for (const url of urls) {
              const given = { environment: "Production", url, events };
              ids.push((await manage(service, path, given, webhookEndpoint)).id);
            }
            const options = { sold: true, probes: false };
            const run = begin(`${name} ${round}`, webhooksPerSecond, options);
            await run.send(seconds);
            const durations = await run.durations();
            answered.push(...durations.answered);
            reported.push(...durations.reported);
            console.log(`  ${name}: ${spread(durations.reported)}`);
            // What waits goes with them.
            for (const id of ids) {
              await manage(service, `${path}/${id}`, null, webhookEndpoint, "DELETE");
            }
            await pause(1_000);
          }
        }
      }).finally(() => [quick, slow].forEach((receiver) => receiver.close()));
      if (quick.calls() === 0 || slow.calls() === 0) throw new Error("nothing was sent out");
      console.log(`  sent: ${quick.calls()} to quick, ${slow.calls()} to slow receivers`);
      const [none, ...others] = kinds;
      return others.flatMap(({ name, answered, reported }) => [
        ...latencies(`2xx, ${name}`, answered, {}, none?.answered ?? []),
        ...latencies(`2xx → socket, ${name}`, reported, {}, none?.reported ?? []),
      ]);
    },
    outbound,
  );
}

const newTimes = (): number[] => [];
const repeated = (times: number, url: string): string[] => Array.from({ length: times }, () => url);

/** Takes what it is sent, after so long. */
async function openReceiver(answerMs: number) {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    request.resume();
    setTimeout(() => response.end(), answerMs);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = portMessage.parse(server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    calls: () => calls,
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}
