/**
 * The log on a real Kafka: the same contract as the embedded one, and what only a broker, other
 * members and a network can do to it. `TEST_KAFKA_BROKERS` runs the contract on another cluster.
 */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import kafkajs, { type Admin } from "kafkajs";
import { ConfigError, readConfig } from "../../../config.js";
import { Backlog } from "../../../stores/watermark/backlog.js";
import { cutTopics, groupOffsets, writeTopics } from "../../../stores/backup/log-part.js";
import { partitionOf } from "../../../stores/log/kafka/kafka-log.js";
import {
  KafkaConnection,
  type KafkaSettings,
  asAdmin,
  clientIdOf,
  coordinatorOf,
} from "../../../stores/log/kafka/connection.js";
import { kafkaSettings } from "../../../stores/log/kafka/settings.js";
import {
  AppendUncertain,
  type ConsumeOptions,
  type Log,
  type LogRecord,
  LogUnavailable,
  LogUnreadable,
  type LogUse,
  type Position,
  kafkaMessageBytesMax,
} from "../../../stores/log/log.js";
import type { Logger } from "../../../runtime/logger.js";
import { limitReading, startKafka } from "../../../ops/servers/kafka.js";
import type { LocalServer } from "../../../ops/servers/server.js";
import { type Topic, topics } from "../../../schemas/records/records.js";
import {
  type KafkaInstallation,
  installKafka,
  openTestKafkaLog,
  plainSettings,
} from "./kafka-installation.js";
import { aclOf, plainLogins, type Right } from "./kafka-users.js";
import { describeLogContract, gate, readAll, record } from "../log-contract.js";
import { rejection, until } from "../../harness/promises.js";
import { together } from "../../harness/together.js";
import { lmdbTopics } from "../log-topics.js";
import { makeCertificate } from "../../harness/certificate.js";
import { type Listening, listen, serveHttp } from "../../harness/loopback.js";
import { suiteOnServers } from "../../harness/real-servers.js";
import { freePort, kill } from "../../harness/service-process.js";
import { keptLog } from "../../harness/kept-log.js";
import { testLogger } from "../../harness/stores.js";

const topic = topics.raw;
/** Of appends to a broker that is away. */
const appendMsMax = 2_000;

describe("Kafka", function () {
  this.timeout(120_000);
  const own = suiteOnServers("kafka", ["kafka"]);
  let port: number;
  let controllerPort: number;
  /** Where it answers, and names an address for itself that leads nowhere. */
  let misleadingPort: number;
  let server: LocalServer;
  let brokers: string;

  before(async () => {
    port = await freePort();
    controllerPort = await freePort();
    misleadingPort = await freePort();
    await start();
    brokers = process.env.TEST_KAFKA_BROKERS ?? server.url;
  });

  async function start(): Promise<void> {
    const plain = `PLAINTEXT://127.0.0.1:${port}`;
    const controller = `CONTROLLER://127.0.0.1:${controllerPort}`;
    const properties = {
      "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
      listeners: `${plain},MISLEADING://127.0.0.1:${misleadingPort},${controller}`,
      "advertised.listeners": `${plain},MISLEADING://kafka.invalid:9092`,
      "listener.security.protocol.map":
        "PLAINTEXT:PLAINTEXT,MISLEADING:PLAINTEXT,CONTROLLER:PLAINTEXT",
      // Who is held back by a quota is so after two seconds of reading, not after ten.
      "quota.window.num": "3",
      // One that was killed may come back once its session has ended: after 3 seconds, not 9.
      "broker.session.timeout.ms": "3000",
      "broker.heartbeat.interval.ms": "500",
    };
    const folder = join(own.folder, "kafka");
    server = own.keep(await startKafka({ folder, port, properties }));
  }

  describeLogContract("Kafka", async () => installKafka(brokers));

  /** @param closing the hook of the suite that closes them */
  function openingLogs(closing: (close: () => Promise<void>) => void) {
    const logs: Log[] = [];
    closing(async () => {
      await Promise.all(logs.splice(0).map((log) => log.close()));
    });
    return async (
      installation: KafkaInstallation = installKafka(server.url),
      settings: Partial<KafkaSettings> = {},
      logger?: Logger,
    ): Promise<Log> => {
      const log = await installation.open({}, settings, logger);
      logs.push(log);
      return log;
    };
  }

  describe("The log on Kafka, while brokers or other members are slow or away", () => {
    const itTogether = together();
    const open = openingLogs(after);
    const rebalancing = { rebalanceMsMax: 1_000 };

    itTogether(
      "should give a stalled member's work to another, whose offset it cannot move",
      async () => {
        const installation = installKafka(server.url);
        const { logger, lines } = keptLog("info");
        const [log, another] = await two(() => open(installation, rebalancing, logger));
        const [place] = await log.append(topic, [record("a")]);
        const held = gate();
        const stalled = consume(log, () => held.enter());
        await held.entered;
        // Longer than a rebalance waits for running batches.
        const given: bigint[] = [];
        const taking = consumeInto(given, another);
        await log.append(topic, [record("a"), record("a")]);
        await until(async () => {
          const committed = await another.committed(topic, "g");
          return given.length >= 3 || committed[place?.partition ?? 0] === 3n;
        });
        await taking.close();
        held.open();
        await stalled.close();
        expect((await log.committed(topic, "g"))[place?.partition ?? 0]).to.equal(3n);
        expect(lines.join("")).to.include("another member of the group has the partition now");
        expect(lines.filter((line) => line.includes('"level":"error"'))).to.eql([]);
      },
    );

    itTogether("should handle less at a time after a batch outlived a rebalance", async () => {
      const installation = installKafka(server.url);
      const [log, another] = await two(() => open(installation, rebalancing));
      const records = Array.from({ length: 64 }, () => record("a"));
      const [place] = await log.append(topic, records);
      const sizes: number[] = [];
      const held = gate();
      const handleSlowly = async (batch: readonly LogRecord[]) => {
        sizes.push(batch.length);
        if (sizes.length === 1) await held.enter();
      };
      const slow = consume(log, handleSlowly, 64);
      await held.entered;
      let hasOther = false;
      const refuse = async () => {
        hasOther = true;
        throw new Error("not yet");
      };
      const other = consume(another, refuse, 64);
      await until(() => hasOther);
      held.open();
      await other.close();
      const isDone = async () => (await log.committed(topic, "g"))[place?.partition ?? 0] === 64n;
      await until(isDone);
      await slow.close();
      expect(sizes).to.eql([64, 32, 32]);
    });

    itTogether("should not wait for a member whose process is known to be dead", async () => {
      const installation = installKafka(server.url);
      const log = await open(installation);
      await log.append(topic, [record("a")]);
      const dead = await openMember(`${installation.prefix}${topic}`, "g");
      const { generationId, memberId } = await dead.joinGroup();
      await dead.broker.syncGroup({ ...dead.group, generationId, memberId, groupAssignment: [] });
      dead.connection.abandon();
      const given: bigint[] = [];
      const processes = { own: "new", silent: async () => new Set(["dead"]) };
      const another = await open(installation, { processes });
      const taking = consumeInto(given, another);
      await until(() => given.length === 1);
      await taking.close();
    });

    itTogether(
      "should remove a silent process once, and wait for one that comes back",
      async () => {
        const installation = installKafka(server.url);
        const [log, third] = await two(() => open(installation));
        const slow = await openMember(`${installation.prefix}${topic}`, "g");
        const rejoin = async (memberId?: string): Promise<string> => {
          const joined = await slow.joinGroup(memberId);
          const { generationId } = joined;
          const named = { generationId, memberId: joined.memberId, groupAssignment: [] };
          await slow.broker.syncGroup({ ...slow.group, ...named });
          return joined.memberId;
        };
        await rejoin();
        const processes = { own: "new", silent: async () => new Set(["dead"]) };
        const another = await open(installation, { processes });
        const handled: bigint[] = [];
        const taking = consumeInto(handled, another);
        await log.append(topic, [record("a")]);
        await until(() => handled.length === 1);
        // It lives: a batch kept it from saying so. Now it is as slow again, when a third one
        // joins.
        const memberId = await rejoin();
        const joining = consumeInto(handled, third);
        await pause(3_000);
        expect(await rejoin(memberId)).to.equal(memberId);
        slow.connection.abandon();
        await Promise.all([taking.close(), joining.close()]);
      },
    );

    itTogether("should keep its name in the group when others come while it joins", async () => {
      const installation = installKafka(server.url);
      const log = await open(installation);
      const other = await openMember(`${installation.prefix}${topic}`, "g");
      const { memberId } = await other.joinGroup();
      const consumer = consume(log, async () => undefined);
      const both = async (userData: string): Promise<string[]> => {
        for (;;) {
          const { members } = await other.joinGroup(memberId, userData);
          if (members.length === 2) return members.map((one) => one.memberId).toSorted();
          await pause(20);
        }
      };
      const before = await both("");
      // It waits for what the other, who leads the group, gives it; the other joins anew instead.
      expect(await both("changed")).to.eql(before);
      other.connection.abandon();
      await consumer.close();
    });

    /** Of the process `dead`; a member that nobody waits less than ten minutes for. */
    async function openMember(name: string, group: string) {
      const processes = { own: "dead", silent: async () => new Set<string>() };
      const settings = { ...plainSettings(server.url), processes };
      const connection = new KafkaConnection(settings, testLogger);
      const groupId = `${name}.${group}`;
      const broker = await coordinatorOf(await connection.ready(name), groupId);
      const { MemberMetadata } = kafkajs.AssignerProtocol;
      const joinGroup = (memberId = "", reported = "") => {
        const userData = Buffer.from(reported);
        const metadata = MemberMetadata.encode({ version: 0, topics: [name], userData });
        return broker.joinGroup({
          groupId,
          memberId,
          sessionTimeout: 600_000,
          rebalanceTimeout: 600_000,
          groupProtocols: [{ name: "RoundRobinAssigner", metadata }],
        });
      };
      return { connection, broker, group: { groupId }, joinGroup };
    }

    itTogether("should not take a broker that holds it back for the end of the log", async () => {
      const installation = installKafka(server.url);
      const log = await open(installation);
      const valueBytes = 20_000;
      for (let round = 0; round < 4; round += 1) {
        await log.append(
          topic,
          Array.from({ length: 10 }, () => ({ key: "a", value: randomBytes(valueBytes) })),
        );
      }
      await limitReading(server.url, clientIdOf("slow"), 400_000);
      const processes = { own: "slow", silent: async () => new Set<string>() };
      const slow = await open(installation, { processes });
      const cut = await cutTopics(slow, await groupOffsets(slow));
      // Each reads more than the quota leaves to the next.
      for (let look = 0; look < 2; look += 1) {
        const backlog = new Backlog(slow, topic, "g", () => ({ receivedAt: 1 }));
        expect(await backlog.earliestWaiting()).to.equal(1);
      }
      const files = await writeTopics(slow, cut, own.folder);
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      expect(bytes).to.be.greaterThan(40 * valueBytes);
    });

    type Unusable = [
      title: string,
      port: () => number,
      replication: number | null,
      reported: RegExp,
    ];
    const unusable: Unusable[] = [
      ["nobody listens", () => 1, null, /KAFKA_BROKERS: Kafka at 127\.0\.0\.1:1 cannot be reached/],
      [
        "a controller is named",
        () => controllerPort,
        null,
        /KAFKA_BROKERS: Kafka at .* is a controller, which takes no records: name the port/,
      ],
      [
        "brokers name addresses that lead nowhere",
        () => misleadingPort,
        null,
        /KAFKA_BROKERS: .* names its broker kafka\.invalid:9092, .* Set advertised\.listeners/,
      ],
      ["too many copies are asked for", () => port, 3, /KAFKA_REPLICATION: the topic/],
    ];
    for (const [title, portOf, replication, reported] of unusable) {
      itTogether(`should say in one sentence that ${title}`, async () => {
        const settings = plainSettings(`127.0.0.1:${portOf()}`);
        const given = { topicPrefix: "unusable.", startMsMax: 500, replication };
        const opening = openTestKafkaLog({ settings, ...given });
        const error = await rejection(opening);
        expect(error).to.be.instanceOf(ConfigError);
        expect(String(error)).to.match(reported);
      });
    }
  });

  describe("The log on Kafka", () => {
    const open = openingLogs(afterEach);

    it("should keep a batch larger than one request in order", async () => {
      const log = await open();
      const values = Array.from({ length: 6 }, (_, n) => Buffer.alloc(700_000, n));
      const reported = await log.append(
        topic,
        values.map((value) => ({ key: "a", value })),
      );
      expect(reported.map(({ offset }) => offset)).to.eql([0n, 1n, 2n, 3n, 4n, 5n]);
      const found = await readAll(log);
      expect(found.map(({ value }) => value[0])).to.eql([0, 1, 2, 3, 4, 5]);
    });

    it("should refuse to open topics with another number of partitions", async () => {
      const installation = installKafka(server.url);
      await open(installation);
      const error = await rejection(installation.open({ partitions: 3 }));
      expect(String(error)).to.match(/KAFKA_PARTITIONS: .*made with 4 partitions/);
    });

    it("should lose nothing and finish each record when members come and go", async () => {
      const installation = installKafka(server.url);
      const [producer, first] = await two(() => open(installation));
      const [second, last] = await two(() => open(installation));
      const finished = new Map<string, number>();
      const handle = async (records: readonly LogRecord[]) => {
        await pause(5);
        return { finished: finish(records) };
      };
      async function finish(records: readonly LogRecord[]): Promise<void> {
        await pause(20);
        for (const one of records) {
          const place = `${one.partition}/${one.offset}`;
          finished.set(place, (finished.get(place) ?? 0) + 1);
        }
      }
      const appended: Position[] = [];
      const enough = new AbortController();
      const load = (async () => {
        for (let round = 0; !enough.signal.aborted; round += 1) {
          const records = Array.from({ length: 20 }, (_, n) => record(`key ${n}`, String(round)));
          appended.push(...(await producer.append(topic, records)));
          await pause(10);
        }
      })();
      const [one, other] = [consume(first, handle, 10), consume(second, handle, 10)];
      const third = consume(last, handle, 10);
      await until(() => finished.size > 200);
      await one.close();
      await pause(500);
      const fourth = consume(first, handle, 10);
      await until(() => finished.size > 600);
      await other.close();
      enough.abort();
      await load;
      await until(() => finished.size >= appended.length);
      await Promise.all([third.close(), fourth.close()]);
      expect(appended.filter((at) => !finished.has(`${at.partition}/${at.offset}`))).to.eql([]);
      // Partitions are given back when what ran on them is finished.
      expect([...finished.values()].filter((times) => times > 1)).to.eql([]);
      expect(await producer.committed(topic, "g")).to.eql(await producer.ends(topic));
    });

    it("should let other processes know what is shown before it is finished", async () => {
      const installation = installKafka(server.url);
      const [log, another] = await two(() => open(installation));
      const [place] = await log.append(topic, [record("a"), record("a"), record("a")]);
      const partition = place?.partition ?? 0;
      const [first, others, shown] = [gate(), gate(), gate()];
      let given = 0;
      const subscription = consume(log, async () => {
        given += 1;
        return {
          finished: (given === 1 ? first : others).enter(),
          shown: given < 3 ? Promise.resolve() : shown.enter(),
        };
      });
      const known = async () => [
        (await another.handled(topic, "g"))[partition],
        (await another.committed(topic, "g"))[partition],
      ];
      const untilKnown = (handled: bigint, committed: bigint) =>
        until(async () => String(await known()) === String([handled, committed]));
      await untilKnown(2n, 0n);
      first.open();
      await untilKnown(2n, 1n);
      shown.open();
      await untilKnown(3n, 1n);
      others.open();
      await subscription.close();
      expect(await known()).to.eql([3n, 3n]);
      // A replay says what is handled anew.
      await another.seek(topic, "g", new Map([[partition, 1n]]));
      expect(await known()).to.eql([1n, 1n]);
    });

    it("should give the first records at once and let those after them gather", async () => {
      const log = await open(installKafka(server.url));
      const given = new Map<string, number>();
      const consumeAs = (group: string, options?: Pick<ConsumeOptions, "lingerMs">) =>
        log.consume({
          topic,
          group,
          batchRecordsMax: 1,
          handle: async (records) =>
            void given.set(group, (given.get(group) ?? 0) + records.length),
          ...options,
        });
      const [unhurried, hurried] = [
        consumeAs("unhurried", { lingerMs: 600_000 }),
        consumeAs("hurried"),
      ];
      for (const count of [1, 2, 3]) {
        await log.append(topic, [record("a")]);
        await until(() => given.get("hurried") === count);
        await until(() => given.has("unhurried"));
      }
      expect(given.get("unhurried")).to.equal(1);
      await Promise.all([unhurried.close(), hurried.close()]);
    });

    it("should report an append that may still be stored from one that cannot", async () => {
      const log = await open(installKafka(server.url), { appendMsMax });
      await log.append(topic, [record("a", "before")]);
      server.process.kill("SIGSTOP");
      // The signal takes a moment, in which the broker may answer one more.
      let appended: Promise<unknown>;
      let appends = 0;
      do {
        appended = log.append(topic, [record("a", "sent")]);
        appends += 1;
      } while (await Promise.race([appended.then(() => true), pause(200, false)]));
      const sent = rejection(appended);
      const waiting = rejection(log.append(topic, [record("a", "never sent")]));
      const errors = await Promise.all([sent, waiting]).finally(() =>
        server.process.kill("SIGCONT"),
      );
      if (!(errors[0] instanceof AppendUncertain)) throw errors[0];
      expect(errors[1]).to.be.instanceOf(LogUnavailable);
      expect(errors[1]).not.to.be.instanceOf(AppendUncertain);
      await log.append(topic, [record("a", "after")]);
      await errors[0].stored;
      // However often it was sent.
      const values = (await readAll(log)).map(({ value }) => value.toString());
      expect(values.filter((value) => value === "sent")).to.have.length(appends);
    });

    it("should lose nothing acknowledged and go on when the broker is killed", async () => {
      const log = await open(installKafka(server.url), { appendMsMax });
      const acknowledged: string[] = [];
      const given = new Set<string>();
      const tailed = new Set<string>();
      let refused = 0;
      const give = async (records: readonly LogRecord[]) => {
        for (const one of records) given.add(one.value.toString());
      };
      const consumer = consume(log, give, 50);
      const tail = log.tail(topic, (one) => void tailed.add(one.value.toString()));
      const enough = new AbortController();
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let round = 0; !enough.signal.aborted; round += 1) {
          const value = `${writer}/${round}`;
          try {
            await log.append(topic, [record(`key ${writer}`, value)]);
            acknowledged.push(value);
          } catch (error) {
            expect(error).to.be.instanceOf(LogUnavailable);
            refused += 1;
          }
        }
      });
      await until(() => acknowledged.length > 500);
      await kill(server.process);
      const before = acknowledged.length;
      const asked = rejection(log.ends(topic));
      await until(() => refused > 0);
      expect(await asked).to.be.instanceOf(LogUnreadable);
      await start();
      await until(() => acknowledged.length > before + 500);
      enough.abort();
      await Promise.all(writers);
      await until(() => acknowledged.every((value) => given.has(value) && tailed.has(value)));
      const found = await readAll(log);
      for (let writer = 0; writer < 4; writer += 1) {
        const ofWriter = acknowledged.filter((value) => value.startsWith(`${writer}/`));
        const kept = found.map(({ value }) => value.toString());
        const order = ofWriter.map((value) => kept.indexOf(value));
        expect(order).not.to.include(-1);
        expect(order).to.eql(order.toSorted((a, b) => a - b));
      }
      await tail.close();
      await consumer.close();
      expect(await log.committed(topic, "g")).to.eql(await log.ends(topic));
    });

    it("should say what it does, for who looks for a fault", async () => {
      const said = await readFile(join(own.folder, "kafka", "kafka.log"), "utf8");
      expect(said).to.match(/^\d{4}-.* INFO .* Kafka Server started$/m);
    });

    it("should say in one sentence that a topic is compacted", async () => {
      const topicPrefix = "compacted.";
      const settings = plainSettings(server.url);
      await asAdmin(settings, testLogger, (admin) =>
        admin.createTopics({
          topics: [
            {
              topic: topicPrefix + topic,
              numPartitions: lmdbTopics()[topic].partitions,
              configEntries: [
                { name: "cleanup.policy", value: "compact,delete" },
                { name: "max.message.bytes", value: String(kafkaMessageBytesMax) },
              ],
            },
          ],
        }),
      );
      const error = await rejection(openTestKafkaLog({ settings, topicPrefix }));
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(/topic compacted\.revenue\.raw is compacted.*cleanup\.policy/);
    });
  });
});

describe("The partition of a key", () => {
  const javaPartitioner = kafkajs.Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: 8 }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 1,
    replicas: [],
    isr: [],
  }));

  it("should be the one other clients of Kafka find it in", () => {
    const keys = Array.from({ length: 200 }, (_, length) => "aé😀7".repeat(50).slice(0, length));
    for (const key of [...keys, ...keys.map((one, index) => `${one}${index}`)]) {
      const message = { key: Buffer.from(key), value: null };
      const theirs = javaPartitioner({ topic: "", partitionMetadata, message });
      expect(partitionOf(key, 8), key).to.equal(theirs);
    }
  });
});

describe("Kafka with TLS and a login", function () {
  this.timeout(120_000);
  const own = suiteOnServers("kafka-login", ["kafka"]);
  let server: LocalServer;
  const file = (name: string): string => join(own.folder, name);

  before(async () => {
    const { key, certificate } = await makeCertificate(own.folder);
    // For the broker and for who calls it.
    const both = [await readFile(key, "utf8"), await readFile(certificate, "utf8")];
    await writeFile(file("both.pem"), both.join(""));
    const broker = {
      folder: file("kafka"),
      port: await freePort(),
      properties: {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config":
          "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": plainLogins({
          admin: "secret",
          guest: "guest",
        }),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": file("both.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": file("certificate.pem"),
        "listener.name.plaintext.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:scrambled;User:ANONYMOUS",
        // More than it has brokers: of topics for which nobody says how many.
        "default.replication.factor": "2",
      },
      scramUsers: { scrambled: "eggs" },
    };
    server = own.keep(await startKafka(broker));
  });

  /** As an operator writes them. */
  function settings(more: Readonly<Record<string, string>> = {}): KafkaSettings {
    const config = readConfig({
      KAFKA_BROKERS: server.url,
      KAFKA_TLS: "on",
      KAFKA_TLS_CA_FILE: file("certificate.pem"),
      KAFKA_TLS_CERT_FILE: file("certificate.pem"),
      KAFKA_TLS_KEY_FILE: file("key.pem"),
      KAFKA_SASL_MECHANISM: "plain",
      KAFKA_SASL_USERNAME: "admin",
      KAFKA_SASL_PASSWORD: "secret",
      ...more,
      ...(more.KAFKA_BROKERS && {
        KAFKA_BROKERS: server.url.replace("127.0.0.1", more.KAFKA_BROKERS),
      }),
    });
    return kafkaSettings(config);
  }

  function open(
    more: Readonly<Record<string, string>> = {},
    given: Partial<Parameters<typeof openTestKafkaLog>[0]> = {},
  ): Promise<Log> {
    const usual = { startMsMax: 2_000, replication: 1, topics: lmdbTopics({ groups: ["g"] }) };
    return openTestKafkaLog({ settings: settings(more), ...usual, ...given });
  }

  const scram = { KAFKA_SASL_MECHANISM: "scram-sha-512", KAFKA_SASL_USERNAME: "scrambled" };

  it("should take a login by SCRAM", async () => {
    // The first topics of a broker that has just started take it a while.
    const startMsMax = 30_000;
    const log = await open({ ...scram, KAFKA_SASL_PASSWORD: "eggs" }, { startMsMax });
    const [place] = await log.append(topics.rejected, [record("a", "by SCRAM")]);
    const found = await log.read(topics.rejected, place?.partition ?? 0, 0n, 1);
    await log.close();
    expect(found.map(({ value }) => value.toString())).to.eql(["by SCRAM"]);
  });

  it("should work for a user with all rights", async () => {
    const log = await open();
    await log.append(topic, [record("a", "kept")]);
    expect((await readAll(log)).map(({ value }) => value.toString())).to.eql(["kept"]);
    const given: string[] = [];
    const give = async (records: readonly LogRecord[]) =>
      void given.push(...records.map(({ key }) => key));
    const consumer = consume(log, give, 10);
    await until(() => given.length > 0);
    await consumer.close();
    expect(given).to.eql(["a"]);
    await log.close();
  });

  const refused: [title: string, more: Readonly<Record<string, string>>, reported: RegExp][] = [
    [
      "a wrong password",
      { KAFKA_SASL_PASSWORD: "wrong" },
      /KAFKA_SASL_PASSWORD: Kafka at .* refused the login/,
    ],
    [
      "a wrong password by SCRAM",
      { ...scram, KAFKA_SASL_PASSWORD: "wrong" },
      /KAFKA_SASL_PASSWORD: Kafka at .* refused the login/,
    ],
    [
      "a user without rights",
      { KAFKA_SASL_USERNAME: "guest", KAFKA_SASL_PASSWORD: "guest" },
      /may not have the topic revenue\.raw/,
    ],
    [
      "brokers whose certificate is not trusted",
      { KAFKA_TLS_CA_FILE: "" },
      /KAFKA_TLS_CA_FILE: the certificate of Kafka at .* is not trusted: .*self-signed/,
    ],
    [
      "a certificate of its own that is missing",
      { KAFKA_TLS_CERT_FILE: "", KAFKA_TLS_KEY_FILE: "" },
      /KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: Kafka at .* refused the certificate of this/,
    ],
    [
      "TLS that is off",
      {
        KAFKA_TLS: "off",
        KAFKA_TLS_CA_FILE: "",
        KAFKA_TLS_CERT_FILE: "",
        KAFKA_TLS_KEY_FILE: "",
      },
      /KAFKA_TLS: Kafka at .* asks for TLS: set KAFKA_TLS=on/,
    ],
    [
      "a mechanism they do not have",
      { KAFKA_SASL_MECHANISM: "scram-sha-256" },
      /KAFKA_SASL_MECHANISM: Kafka at .* takes no login by scram-sha-256/,
    ],
    [
      "a login that is left out",
      { KAFKA_SASL_MECHANISM: "", KAFKA_SASL_USERNAME: "", KAFKA_SASL_PASSWORD: "" },
      /closes the connection: it asks for a login \(KAFKA_SASL_MECHANISM\), or is no Kafka/,
    ],
    [
      "a certificate of another name",
      { KAFKA_BROKERS: "localhost" },
      /KAFKA_BROKERS: the certificate of Kafka at localhost:\d+ is of another name/,
    ],
  ];
  describe("that cannot be used", () => {
    const itTogether = together();
    for (const [title, more, reported] of refused) {
      itTogether(`should report ${title} in one sentence`, async () => {
        const error = await rejection(open(more));
        expect(error).to.be.instanceOf(ConfigError);
        expect(String(error)).to.match(reported);
      });
    }

    itTogether("should be waited for where it is not known how many are to come", async () => {
      const { logger, lines } = keptLog("warn");
      const error = await rejection(
        open({}, { topicPrefix: "unusable.", replication: null, logger }),
      );
      expect(error).to.be.instanceOf(ConfigError);
      expect(lines.join("")).to.match(/waiting, it may be starting: KAFKA_REPLICATION: the topic/);
    });
  });

  describe("for a user with some rights", () => {
    const guest = { KAFKA_SASL_USERNAME: "guest", KAFKA_SASL_PASSWORD: "guest" };
    const [reads, appends] = [Object.values(topics), Object.values(topics)];
    const every = { reads, appends, consumes: ["g"] };
    const allowed = (list: readonly Topic[], operation: Right["operation"]): Right[] =>
      list.map((name) => ({ on: "TOPIC", name, operation }));
    const inGroups = (operation: Right["operation"]): Right[] =>
      Object.values(topics).map((name) => ({ on: "GROUP", name: `${name}.g`, operation }));
    const all = [
      ...allowed(every.reads, "READ"),
      ...allowed(every.appends, "WRITE"),
      ...inGroups("READ"),
    ];
    const admin = <T>(work: (admin: Admin) => Promise<T>): Promise<T> =>
      asAdmin(settings(), testLogger, work);
    const opened: Log[] = [];

    before(async () => (await open()).close());
    beforeEach(() => admin((one) => one.deleteAcls({ filters: [anyAcl] })));
    afterEach(() => Promise.all(opened.splice(0).map((log) => log.close())));

    function give(rights: readonly Right[]): Promise<unknown> {
      return admin((one) => one.createAcls({ acl: rights.map((right) => aclOf("guest", right)) }));
    }

    /** The controller says yes before the broker knows. */
    async function reported(use: LogUse): Promise<string> {
      let before = "";
      for (;;) {
        const now = await open(guest, { use }).then(
          async (log) => (await log.close(), "nothing"),
          String,
        );
        if (now === before) return now;
        before = now;
        await pause(200);
      }
    }

    const { raw, facts } = topics;
    const without = (on: Right["on"], name: string, operation: Right["operation"]): Right[] =>
      all.filter(
        (right) => right.on !== on || right.name !== name || right.operation !== operation,
      );
    const lacking: [title: string, rights: Right[], use: LogUse, reported: RegExp][] = [
      [
        "that it may only look",
        [...allowed(every.reads, "DESCRIBE"), ...inGroups("DESCRIBE")],
        every,
        new RegExp(
          "KAFKA_SASL_USERNAME: Kafka does not let the user guest .*: give it Read on the topics " +
            "revenue\\.raw, .*revenue\\.mrr-movements; Write on the topics revenue\\.raw, .*; " +
            "Read on the groups revenue\\.raw\\.g, .*$",
        ),
      ],
      ["Read", without("TOPIC", facts, "READ"), every, /give it Read on the topic revenue\.facts$/],
      ["Write", without("TOPIC", raw, "WRITE"), every, /give it Write on the topic revenue\.raw$/],
      [
        "Read on a group",
        without("GROUP", `${raw}.g`, "READ"),
        every,
        /give it Read on the group revenue\.raw\.g$/,
      ],
      [
        "Describe on a group",
        without("GROUP", `${raw}.g`, "READ"),
        { reads: [], appends: [raw], consumes: [] },
        /give it Describe on the group revenue\.raw\.g$/,
      ],
      [
        "Describe on a topic that it neither reads nor writes",
        [...allowed([raw], "WRITE"), ...inGroups("DESCRIBE")],
        { reads: [], appends: [raw], consumes: [] },
        /give it Describe on the topics revenue\.incomplete, .*revenue\.mrr-movements$/,
      ],
      ["nothing where all are there", all, every, /^nothing$/],
      [
        "nothing where all are there that this process needs",
        [
          ...allowed(every.reads, "DESCRIBE"),
          ...allowed([raw], "WRITE"),
          ...allowed([facts], "READ"),
          ...inGroups("DESCRIBE"),
        ],
        { reads: [facts], appends: [raw], consumes: [] },
        /^nothing$/,
      ],
    ];
    for (const [title, rights, use, sentence] of lacking) {
      it(`should report ${title}`, async () => {
        await give(rights);
        expect(await reported(use)).to.match(sentence);
      });
    }

    it("should leave no record where it asked whether it may write", async () => {
      await give(all);
      const log = await open();
      opened.push(log);
      const ends = await log.ends(raw);
      expect(await reported(every)).to.equal("nothing");
      expect(await log.ends(raw)).to.eql(ends);
    });

    it("should report a right that was taken away once in a while, and go on with it", async () => {
      await give(all);
      await reported(every);
      const { logger, lines } = keptLog("info");
      const log = await open(guest, { use: every, logger });
      opened.push(log);
      await log.append(raw, [record("a")]);
      // Of its start.
      lines.length = 0;
      await admin((one) => one.deleteAcls({ filters: [anyAcl] }));
      const isTaken = () => log.append(raw, [record("a")]).then(Boolean, () => false);
      while (await isTaken());
      for (let again = 0; again < 20; again += 1) {
        expect(await rejection(log.append(raw, [record("a")]))).to.be.instanceOf(LogUnavailable);
      }
      expect(String(await rejection(log.ends(raw)))).to.match(/LogUnreadable: Kafka does not give/);
      expect(lines).to.have.length(1);
      expect(lines[0]).to.match(/does not give this user the right Write on the topic rev/);
      await give(all);
      while (!(await isTaken()));
      expect(lines).to.have.length(1);
    });
  });
});

const anyAcl = {
  resourceType: kafkajs.AclResourceTypes.ANY,
  resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
  operation: kafkajs.AclOperationTypes.ANY,
  permissionType: kafkajs.AclPermissionTypes.ANY,
};

describe("A Kafka that says nothing", function () {
  this.timeout(60_000);
  let silent: Listening;
  before(async () => {
    silent = await listen(createServer(() => undefined));
  });
  after(() => silent.close());
  const itTogether = together();

  async function reported(where: string, tls: string): Promise<string> {
    const settings = kafkaSettings(readConfig({ KAFKA_BROKERS: where, KAFKA_TLS: tls }));
    const error = await rejection(openTestKafkaLog({ settings, startMsMax: 0 }));
    expect(error).to.be.instanceOf(ConfigError);
    return String(error);
  }

  for (const tls of ["off", "on"]) {
    itTogether(
      `should be reported as a Kafka that hangs, or is not for KAFKA_TLS=${tls}`,
      async () => {
        const where = `127.0.0.1:${silent.port}`;
        expect(await reported(where, tls)).to.include(
          `KAFKA_BROKERS: Kafka at ${where} gives no answer: it does not work, or cannot be used ` +
            `with KAFKA_TLS=${tls}: `,
        );
      },
    );
  }

  itTogether("should be reported as what it is when it answers by HTTP", async () => {
    const where = new URL(await serveHttp("no Kafka", (_, response) => response.end())).host;
    expect(await reported(where, "off")).to.include(
      `KAFKA_BROKERS: what answers at ${where} is an HTTP server and no Kafka: name the port`,
    );
    expect(await reported(where, "on")).to.include(
      `KAFKA_TLS: Kafka at ${where} does not speak TLS: set KAFKA_TLS=off`,
    );
  });

  for (const where of ["127.0.0.1:1", "kafka.invalid:9092"]) {
    itTogether(`should not be thought of where nobody listens: ${where}`, async () => {
      expect(await reported(where, "off")).to.include(
        `KAFKA_BROKERS: Kafka at ${where} cannot be reached: Connection error: `,
      );
    });
  }
});

describe("The settings of Kafka", () => {
  const wrong: [title: string, settings: Readonly<Record<string, string>>, reported: RegExp][] = [
    [
      "files of certificates without TLS",
      { KAFKA_TLS_CA_FILE: "ca.pem", KAFKA_TLS_KEY_FILE: "key.pem" },
      /KAFKA_TLS_CA_FILE, KAFKA_TLS_KEY_FILE: set KAFKA_TLS=on/,
    ],
    [
      "a certificate without its key",
      { KAFKA_TLS: "on", KAFKA_TLS_CERT_FILE: "cert.pem" },
      /KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: set both or neither/,
    ],
    [
      "a file that is not there",
      { KAFKA_TLS: "on", KAFKA_TLS_CA_FILE: "/nowhere/ca.pem" },
      /KAFKA_TLS_CA_FILE: .*\/nowhere\/ca\.pem/,
    ],
    [
      "a user without a password",
      { KAFKA_SASL_MECHANISM: "plain", KAFKA_SASL_USERNAME: "admin" },
      /KAFKA_SASL_PASSWORD: set all of them or none/,
    ],
    ["a mechanism nobody knows", { KAFKA_SASL_MECHANISM: "magic" }, /KAFKA_SASL_MECHANISM/],
  ];
  for (const [title, settings, reported] of wrong) {
    it(`should refuse ${title}, by name`, () => {
      const read = () => kafkaSettings(readConfig({ KAFKA_BROKERS: "kafka:9092", ...settings }));
      expect(read).to.throw(ConfigError, reported);
    });
  }
});

async function two<One>(make: () => Promise<One>): Promise<readonly [One, One]> {
  return [await make(), await make()];
}

/** By the group g, one record at a time unless more are asked for. */
function consume(
  log: Log,
  handle: ConsumeOptions["handle"],
  batchRecordsMax = 1,
): ReturnType<Log["consume"]> {
  return log.consume({ topic, group: "g", batchRecordsMax, handle });
}

/** The offsets it is given. */
function consumeInto(given: bigint[], log: Log) {
  return consume(log, async (records) => void given.push(...records.map(({ offset }) => offset)));
}
