/** The log on a Kafka of three brokers, each of which dies once: leaders and coordinators move. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import {
  AppendUncertain,
  type Log,
  type LogRecord,
  LogUnavailable,
} from "../../../stores/log/log.js";
import { startKafka } from "../../../ops/servers/kafka.js";
import type { LocalServer } from "../../../ops/servers/server.js";
import { topics } from "../../../schemas/records/records.js";
import { must } from "../../model/readers/json.js";
import { clusterProperties } from "./kafka-cluster.js";
import { openTestKafkaLog, plainSettings } from "./kafka-installation.js";
import { readAll, record } from "../log-contract.js";
import { until } from "../../harness/promises.js";
import { lmdbTopics } from "../log-topics.js";
import { suiteOnServers } from "../../harness/real-servers.js";
import { freePort, kill } from "../../harness/service-process.js";

const topic = topics.raw;
const brokerCount = 3;
/** Appends between two deaths that somebody was reported. */
const appendsPerDeath = 100;
/** That one is dead is known after 3 seconds, not 9. */
const noticedSoon = {
  "broker.session.timeout.ms": "3000",
  "broker.heartbeat.interval.ms": "500",
};
const keys = ["a", "b", "c", "d", "e", "f", "g", "h"];

describe("Kafka with three brokers", function () {
  this.timeout(240_000);
  const own = suiteOnServers("kafka-brokers", ["kafka"]);
  let nodes: readonly Parameters<typeof startKafka>[0][];
  const servers: LocalServer[] = [];
  const start = async (index: number): Promise<void> => {
    servers[index] = own.keep(await startKafka(must(nodes[index], `a broker ${index}`)));
  };

  before(async () => {
    const ports = await Promise.all(
      Array.from({ length: brokerCount }, () => Promise.all([freePort(), freePort()])),
    );
    const brokers = ports.map(([port, controllerPort]) => ({ port, controllerPort }));
    nodes = clusterProperties(brokers).map((properties, index) => ({
      folder: join(own.folder, `broker-${index + 1}`),
      port: brokers[index]?.port ?? 0,
      properties: { ...properties, ...noticedSoon },
    }));
    // Together, since none is ready before most of them are.
    await Promise.all(nodes.map((_, index) => start(index)));
  });

  it("should lose nothing and keep its order while each broker dies once", async () => {
    const prefix = `test-${randomUUID()}.`;
    const open = () =>
      openTestKafkaLog({
        settings: plainSettings(...servers.map(({ url }) => url)),
        topicPrefix: prefix,
        replication: brokerCount,
        topics: lmdbTopics({ partitions: 6 }),
      });
    const [producer, one, other] = await Promise.all([open(), open(), open()]);
    const seen = new Set<string>();
    const handle = async (records: readonly LogRecord[]) => {
      for (const { value } of records) seen.add(value.toString());
    };
    const consumers = [one, other].map((log) =>
      log.consume({ topic, group: "g", batchRecordsMax: 50, handle }),
    );
    const tailed = new Set<string>();
    const tail = one.tail(topic, ({ value }) => void tailed.add(value.toString()));
    const load = new Load(producer);

    // Kafka makes its own topics at the first use, and only while all copies can be made.
    await load.goesOn();
    await until(() => seen.size > 0);
    for (let broker = 0; broker < brokerCount; broker += 1) {
      await kill(must(servers[broker], `a broker ${broker}`).process);
      await load.goesOn();
      await start(broker);
      await load.goesOn();
    }
    await load.stop();

    await until(() => load.acknowledged.every((value) => seen.has(value)));
    await until(() => load.acknowledged.every((value) => tailed.has(value)));
    await until(async () => {
      const [committed, ends] = [await one.committed(topic, "g"), await one.ends(topic)];
      return ends.every((end, partition) => committed[partition] === end);
    });
    const kept = await readAll(producer);
    for (const key of keys) {
      const values = kept.filter((found) => found.key === key).map(({ value }) => value.toString());
      const acknowledged = new Set(load.acknowledgedOf(key));
      expect(values.filter((value) => acknowledged.has(value))).to.eql([...acknowledged]);
      // What nobody knows of may have come in, but once.
      expect(load.sentOf(key)).to.include.members(values);
      expect(values).to.have.length(new Set(values).size);
    }
    await Promise.all([...consumers, tail].map((subscription) => subscription.close()));
    await Promise.all([producer, one, other].map((log) => log.close()));
  });
});

/** One append after the other, a record of each key. */
class Load {
  readonly acknowledged: string[] = [];
  readonly #sent: string[] = [];
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #appends = 0;

  constructor(private readonly log: Log) {
    this.#running = this.#run();
    // Reported by `stop`.
    this.#running.catch(() => undefined);
  }

  async #run(): Promise<void> {
    for (let round = 0; !this.#stopping.signal.aborted; round += 1) {
      const values = keys.map((key) => `${key} ${round}`);
      this.#sent.push(...values);
      try {
        await this.log.append(
          topic,
          keys.map((key, index) => record(key, values[index])),
        );
        this.acknowledged.push(...values);
        this.#appends += 1;
      } catch (error) {
        if (!(error instanceof LogUnavailable || error instanceof AppendUncertain)) throw error;
      }
      await pause(5);
    }
  }

  acknowledgedOf(key: string): string[] {
    return this.acknowledged.filter((value) => value.startsWith(`${key} `));
  }

  sentOf(key: string): string[] {
    return this.#sent.filter((value) => value.startsWith(`${key} `));
  }

  async goesOn(): Promise<void> {
    const wanted = this.#appends + appendsPerDeath;
    await Promise.race([until(() => this.#appends >= wanted), this.#running]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }
}
