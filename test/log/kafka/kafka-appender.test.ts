/** What an append to Kafka says when brokers fail in the middle of it; theirs are played here. */
import kafkajs, { type Kafka, type PartitionMetadata, type ProducerRecord } from "kafkajs";
import { expect } from "chai";
import { KafkaAppender, Pending, kafkaBatchBytesMax } from "../../../stores/log/kafka/appender.js";
import { Leaders, LeadersDiffer } from "../../../stores/log/kafka/leaders.js";
import { AppendUncertain, LogUnavailable } from "../../../stores/log/log.js";
import { limits } from "../../../config.js";
import { rejection } from "../../harness/promises.js";
import { testLogger } from "../../harness/stores.js";

const appendMsMax = 50;
const quiet = kafkajs.logLevel.NOTHING;

/** The offset of each partition that is reported, by its number. */
type Answer = (string | undefined)[];

describe("An append that takes several requests", () => {
  const now = performance.now.bind(performance);
  afterEach(() => {
    performance.now = now;
  });

  const halfBatch = Buffer.alloc(kafkaBatchBytesMax * 0.6);
  const records = ["first", "second"].map((key) => ({ partition: 0, key, value: halfBatch }));

  it("should say that some may be stored when only the first was sent", async () => {
    const sent: string[] = [];
    const appender = over((key) => {
      sent.push(key);
      // The second request would begin when the time of the append is over.
      performance.now = () => now() + appendMsMax + 1;
    });
    const error = await rejection(appender.append(records));
    expect(sent).to.deep.equal(["first"]);
    expect(error).to.be.instanceOf(AppendUncertain);
  });

  it("should say that nothing was taken when none could be sent", async () => {
    const appender = over(() => undefined, new Error("no broker"));
    const error = await rejection(appender.append(records.slice(0, 1)));
    expect(error).to.be.instanceOf(LogUnavailable);
    expect(error).not.to.be.instanceOf(AppendUncertain);
  });

  it("should report what was answered too late as stored, and go on meanwhile", async () => {
    const small = { partition: 0, value: Buffer.alloc(1) };
    let answerLate = (): void => undefined;
    const isLate = new Promise<void>((resolve) => (answerLate = resolve));
    const { appender } = playBrokers(async ({ messages }) => {
      if (messages[0]?.key === "late") await isLate;
      return ["7"];
    });
    const error = await rejection(appender.append([{ key: "late", ...small }]));
    if (!(error instanceof AppendUncertain)) throw error;
    let isKnown = false;
    const known = error.stored.then(() => (isKnown = true));
    await appender.append([{ key: "next", ...small }]);
    expect(isKnown).to.equal(false);
    answerLate();
    await known;
  });

  it("should say that it refuses records until it takes some, or a while is over", async () => {
    let isAway = true;
    const { appender } = playBrokers(() => {
      if (!isAway) return ["7"];
      throw Object.assign(new Error("too few replicas"), { type: "NO", retriable: false });
    });
    appender.check();
    await rejection(appender.append(records.slice(0, 1)));
    expect(() => appender.check()).to.throw(LogUnavailable);
    performance.now = () => now() + 2 * limits.kafkaAppendMsMax + 1;
    appender.check();
    performance.now = now;
    isAway = false;
    await appender.append(records.slice(0, 1));
    appender.check();
  });

  it("should send again what failed on its way, until it is stored", async () => {
    let sends = 0;
    const { appender, played } = playBrokers(() => {
      sends += 1;
      if (sends < 3) throw new Error("the connection was lost");
      return ["7"];
    });
    const [place] = await appender.append(records.slice(0, 1));
    expect(place?.offset).to.equal(7n);
    expect([sends, played()]).to.eql([3, 1]);
  });

  it("should not know of a request that failed whether it is stored", async () => {
    const { appender } = playBrokers(() => {
      const ofKafka = { type: "OUT_OF_ORDER_SEQUENCE_NUMBER", retriable: false };
      throw Object.assign(new Error("its numbers are not ours"), ofKafka);
    });
    const error = await rejection(appender.append(records.slice(0, 1)));
    if (!(error instanceof AppendUncertain)) throw error;
    expect(String(await rejection(error.stored))).to.match(/its numbers are not ours/);
  });

  it("should not send again what one broker has stored because another failed", async () => {
    const sent: number[][] = [];
    const { appender, played } = playBrokers(({ messages }) => {
      const partitions = messages.map(({ partition = 0 }) => partition);
      sent.push(partitions);
      if (sent.length === 2) throw new Error("the connection was lost");
      return partitions.includes(0) ? ["7", undefined, "9"] : [undefined, "8"];
    });
    const small = { key: "k", value: Buffer.alloc(1) };
    const places = await appender.append([0, 1, 2].map((partition) => ({ partition, ...small })));
    expect(places.map(({ offset }) => offset)).to.eql([7n, 8n, 9n]);
    expect(sent).to.eql([[0, 2], [1], [1]]);
    expect(played()).to.equal(1);
  });

  it("should part a send whose partitions get different leaders before it is tried again", () => {
    const leaders = new Leaders();
    const messages = leaders.onlyTogether([0, 1].map((partition) => [{ partition, value: "" }]));
    const place = (...brokers: number[]) =>
      messages.map((message) =>
        leaders.partitionOf({ topic: "topic", message, partitionMetadata: ledBy(brokers) }),
      );
    expect(place(3, 3)).to.eql([0, 1]);
    expect(() => place(3, 4)).to.throw(LeadersDiffer);
    expect(leaders.group([0, 1])).to.eql([[0], [1]]);
    expect(place(4, 4)).to.eql([0, 1]);
  });

  /** Brokers that take whatever is sent. @param onSent is reported the key of its first record */
  function over(onSent: (key: string) => void, noConnection?: Error): KafkaAppender {
    const answer = ({ messages }: ProducerRecord): string[] => {
      onSent(String(messages[0]?.key));
      return ["0"];
    };
    return playBrokers(answer, noConnection).appender;
  }

  function playBrokers(
    answer: (sent: ProducerRecord) => Answer | Promise<Answer>,
    noConnection?: Error,
  ) {
    let connections = 0;
    const connect = () => {
      connections += 1;
      const kafka: Kafka = new kafkajs.Kafka({ brokers: ["127.0.0.1:1"], logLevel: quiet });
      const connection = {
        kafka,
        isAbandoned: false,
        within: <T>(_ms: number, work: () => Promise<T>) => work(),
        abandon: () => undefined,
      };
      const producerOf = kafka.producer.bind(kafka);
      kafka.producer = (config) => ({
        ...producerOf(config),
        connect: async () => {
          if (noConnection === undefined) return;
          performance.now = () => now() + appendMsMax + 1;
          throw noConnection;
        },
        send: async (sent: ProducerRecord) => {
          const partitionMetadata = ledBy([0, 1, 0]);
          for (const message of sent.messages) {
            config?.createPartitioner?.()({ topic: sent.topic, message, partitionMetadata });
          }
          return (await answer(sent)).flatMap((baseOffset, partition) =>
            baseOffset === undefined
              ? []
              : [{ topicName: "topic", partition, errorCode: 0, baseOffset }],
          );
        },
      });
      return connection;
    };
    const settings = { brokers: [], tls: null, sasl: null, appendMsMax };
    const pending = new Pending(limits.logPendingBytesMax);
    const appender = new KafkaAppender(settings, "topic", pending, testLogger, connect);
    return { appender, played: () => connections };
  }
});

/** The partitions' leaders, as kafkajs hands them to a partitioner. */
function ledBy(brokers: readonly number[]): PartitionMetadata[] {
  return brokers.map((leader, partitionId) => ({
    partitionId,
    leader,
    partitionErrorCode: 0,
    replicas: [leader],
    isr: [leader],
  }));
}
