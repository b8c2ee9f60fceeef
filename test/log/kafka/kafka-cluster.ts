/** What brokers of one Kafka cluster on this machine are reported each other. */

/** Copies of what is to survive the loss of a broker. */
const copiesMax = 3;

export interface BrokerPorts {
  readonly port: number;
  /** Where the others ask it as a controller. */
  readonly controllerPort: number;
}

/** Lines of `server.properties` of each of them, in the order given. */
export function clusterProperties(brokers: readonly BrokerPorts[]): Record<string, string>[] {
  const voters = brokers.map(
    ({ controllerPort }, index) => `${index + 1}@127.0.0.1:${controllerPort}`,
  );
  const copies = String(Math.min(brokers.length, copiesMax));
  return brokers.map(({ port, controllerPort }, index) => ({
    "node.id": String(index + 1),
    "controller.quorum.voters": voters.join(","),
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "offsets.topic.replication.factor": copies,
    "transaction.state.log.replication.factor": copies,
    // Several on a machine that is busy are slow to answer, and no less alive.
    "controller.quorum.election.timeout.ms": "5000",
    "controller.quorum.fetch.timeout.ms": "5000",
  }));
}
