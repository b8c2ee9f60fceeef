/** What an append to Kafka says when brokers fail in the middle of it; theirs are played here. */
import kafkajs, { type Kafka, type ProducerRecord } from "kafkajs";
import { expect } from "chai";
import { KafkaAppender, Pending } from "../backends/log-kafka-appender.js";
import { AppendUncertain, LogUnavailable } from "../backends/log.js";
import { limits } from "../config.js";
import { rejection } from "./log-contract.js";
import { testLogger } from "./stores.js";

describe("An append that takes several requests", () => {
  const now = performance.now.bind(performance);
  afterEach(() => {
    performance.now = now;
  });

  const halfBatch = Buffer.alloc(limits.kafkaBatchBytesMax * 0.6);
  const records = ["first", "second"].map((key) => ({ partition: 0, key, value: halfBatch }));

  it("should say that some may be stored when only the first was sent", async () => {
    const sent: string[] = [];
    const appender = over((key) => {
      sent.push(key);
      // The second request would begin when the time of the append is over.
      performance.now = () => now() + limits.kafkaAppendMsMax + 1;
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

  /** Brokers that take whatever is sent. @param onSent is told the key of its first record */
  function over(onSent: (key: string) => void, noConnection?: Error): KafkaAppender {
    const kafka: Kafka = new kafkajs.Kafka({ brokers: ["127.0.0.1:1"] });
    const producer = {
      ...kafka.producer(),
      connect: async () => {
        if (noConnection === undefined) return;
        performance.now = () => now() + limits.kafkaAppendMsMax + 1;
        throw noConnection;
      },
      send: async ({ messages }: ProducerRecord) => {
        onSent(String(messages[0]?.key));
        return [{ topicName: "topic", partition: 0, errorCode: 0, baseOffset: "0" }];
      },
    };
    kafka.producer = () => producer;
    const connection = {
      kafka,
      within: <T>(_ms: number, work: () => Promise<T>) => work(),
      abandon: () => undefined,
    };
    const settings = { brokers: [], tls: null, sasl: null };
    const pending = new Pending(limits.logPendingBytesMax);
    return new KafkaAppender(settings, "topic", pending, testLogger, () => connection);
  }
});
