import { expect } from "chai";
import kafkajs from "kafkajs";
import { refusalOf } from "../../../stores/log/kafka/start-errors.js";

const settings = { brokers: ["kafka:9092"], tls: null, sasl: null };

/** As kafkajs makes them of Kafka's answers. */
function answered(type: string, retriable: boolean): Error {
  return Object.assign(new Error(type), { type, retriable });
}

describe("What keeps a start from using Kafka", () => {
  const rows: readonly [what: string, error: Error, mayPass: boolean][] = [
    ["a lost connection", new kafkajs.KafkaJSConnectionError("Connection timeout"), true],
    ["a connection that kafkajs lost by itself", new Error("Broker not connected"), true],
    ["a broker that it lost sight of", new Error("The broker was not found"), true],
    ["a leader that is not chosen yet", answered("LEADER_NOT_AVAILABLE", true), true],
    ["a coordinator that is loading", answered("COORDINATOR_LOAD_IN_PROGRESS", true), true],
    ["a right that is missing", answered("TOPIC_AUTHORIZATION_FAILED", false), false],
    ["more copies than brokers", answered("INVALID_REPLICATION_FACTOR", false), false],
    ["a login that is refused", new Error("SASL SCRAM authentication failed"), false],
    ["a certificate that is too old", new Error("certificate has expired"), false],
  ];
  for (const [what, error, mayPass] of rows) {
    it(`should ${mayPass ? "be waited for" : "end it at once"}: ${what}`, () => {
      expect(refusalOf(error, settings).mayPass).to.equal(mayPass);
    });
  }
});
