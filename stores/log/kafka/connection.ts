/**
 * One connection to a Kafka cluster, which can be given up at once. kafkajs may wait for ever for
 * a broker that went away at the wrong moment (its `disconnect` waits for answers, an interrupted
 * login for a reply), so every wait here has an end of its own, and the sockets are ours to close.
 */
import { isIP, type Socket, connect as connectTcp } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import kafkajs, {
  type Admin,
  type Assigner,
  type Broker,
  type Cluster,
  type Kafka,
  type LogEntry,
  type SASLOptions,
} from "kafkajs";
import { limits } from "../../../config.js";
import { answered } from "../../../runtime/deadline.js";
import type { Logger } from "../../../runtime/logger.js";

/** Kafka: reaching a broker, one answer, and one try of all that has to be done at start. */
const kafkaConnectMsMax = 2_000;
/** More than any answer of Kafka has; the first letters of others are a longer length to it. */
const kafkaAnswerBytesMax = 1024 * 1024 * 1024;

export interface KafkaSettings {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly tls: ConnectionOptions | null;
  readonly sasl: SASLOptions | null;
  /** Left out where nothing is known of other processes. */
  readonly processes?: Processes;
  /** How long an append may wait; left out: `limits.kafkaAppendMsMax`. */
  readonly appendMsMax?: number;
  /** How long running batches may hold up a group; left out: `limits.kafkaRebalanceMsMax`. */
  readonly rebalanceMsMax?: number;
}

/** Those that work on the same servers. */
export interface Processes {
  /** This one. */
  readonly own: string;
  /** Those that have been silent for a while. */
  silent(): Promise<ReadonlySet<string>>;
}

/** How Kafka and its logs know the connections of a process. */
export function clientIdOf(process: string | undefined): string {
  return process === undefined ? "revenue" : `revenue-${process}`;
}

export class KafkaConnection {
  /** For producers and administration. */
  readonly kafka: Kafka;
  /** For requests of our own to single brokers; not connected yet. */
  readonly cluster: Cluster;
  /** Of a group's partitions to its members, as kafkajs' own consumers have it. */
  readonly assigner: Assigner;
  readonly #sockets = new Set<Socket>();
  #isAbandoned = false;

  constructor(settings: KafkaSettings, logger: Logger) {
    this.kafka = new kafkajs.Kafka({
      clientId: clientIdOf(settings.processes?.own),
      brokers: [...settings.brokers],
      ...(settings.tls && { ssl: settings.tls }),
      ...(settings.sasl && { sasl: settings.sasl }),
      connectionTimeout: kafkaConnectMsMax,
      authenticationTimeout: kafkaConnectMsMax,
      requestTimeout: limits.kafkaAnswerMsMax,
      // The callers retry with a time limit of their own.
      retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 500 },
      socketFactory: ({ host, port, ssl, onConnect }) => this.#open(host, port, ssl, onConnect),
      logLevel: kafkajs.logLevel.WARN,
      logCreator: () => (entry) => report(logger, entry),
    });
    ({ cluster: this.cluster, assigner: this.assigner } = partsOf(this.kafka));
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** @throws what `work` throws, or that it took too long; the connection is abandoned then */
  async within<T>(msMax: number, work: () => Promise<T>): Promise<T> {
    return await answered("Kafka", work(), msMax, () => this.abandon());
  }

  /** Connected, and knows the topic. */
  async ready(topic: string): Promise<Cluster> {
    await this.cluster.connect();
    await this.cluster.addTargetTopic(topic);
    return this.cluster;
  }

  /** All pending requests fail; nothing is sent any more. Safe to call twice. */
  abandon(): void {
    this.#isAbandoned = true;
    for (const socket of this.#sockets) socket.destroy(new Error("the connection was given up"));
  }

  #open(host: string, port: number, tls: ConnectionOptions, onConnect: () => void): Socket {
    if (this.#isAbandoned) throw new Error("the connection was given up");
    const name = isIP(host) === 0 ? { servername: host } : {};
    // kafkajs says `ssl` is always there; without TLS it is not.
    const socket = tls
      ? connectTls({ host, port, ...name, ...tls }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, keepAliveMs);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // kafkajs listens, too; an error after it stopped listening must not end the process.
    socket.on("error", () => undefined);
    socket.once("data", (first) => refuseStranger(socket, first));
    return socket;
  }
}

const keepAliveMs = 10_000;

/** Codes of the error of a connection whose other end does not speak as Kafka does. */
export const NoKafka = { http: "ENOKAFKA_HTTP", tls: "ENOKAFKA_TLS", other: "ENOKAFKA" } as const;

/** kafkajs would take the first bytes for a length and wait for a gigabyte. */
function refuseStranger(socket: Socket, first: Buffer): void {
  const code = strangerOf(first);
  if (code === null) return;
  socket.destroy(Object.assign(new Error("the server that answers is not Kafka"), { code }));
}

/** Of a record of TLS (RFC 8446, 5.1): its type and its major version. */
const tlsAlert = Buffer.from([21, 3]);
const lengthBytes = 4;

/** Null: it may be Kafka, whose answers begin with their length. */
function strangerOf(first: Buffer): string | null {
  if (first.subarray(0, tlsAlert.length).equals(tlsAlert)) return NoKafka.tls;
  const isLength = first.length < lengthBytes || first.readUInt32BE() < kafkaAnswerBytesMax;
  if (isLength) return null;
  return first.toString("latin1").startsWith("HTTP/") ? NoKafka.http : NoKafka.other;
}

/** What the brokers of kafkajs can do though its types leave it out. */
export interface GroupBroker extends Broker {
  joinGroup(request: {
    groupId: string;
    sessionTimeout: number;
    rebalanceTimeout: number;
    memberId: string;
    groupProtocols: { name: string; metadata: Buffer }[];
  }): Promise<{
    generationId: number;
    leaderId: string;
    memberId: string;
    members: { memberId: string; memberMetadata: Buffer }[];
  }>;
  syncGroup(request: {
    groupId: string;
    generationId: number;
    memberId: string;
    groupAssignment: { memberId: string; memberAssignment: Buffer }[];
  }): Promise<{ memberAssignment: Buffer }>;
  heartbeat(request: {
    groupId: string;
    groupGenerationId: number;
    memberId: string;
  }): Promise<unknown>;
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
}

export async function coordinatorOf(cluster: Cluster, groupId: string): Promise<GroupBroker> {
  const broker = await cluster.findGroupCoordinator({ groupId });
  if (!isGroupBroker(broker)) throw new Error("this kafkajs has no group requests");
  return broker;
}

export function isGroupBroker(broker: Broker): broker is GroupBroker {
  return ["joinGroup", "syncGroup", "heartbeat", "leaveGroup"].every((name) => name in broker);
}

/** Kafka's own name of what went wrong, such as `ILLEGAL_GENERATION`; null for other errors. */
export function kafkaErrorType(error: unknown): string | null {
  for (let cause = firstOf(error); cause instanceof Error; cause = cause.cause) {
    if ("type" in cause && typeof cause.type === "string") return cause.type;
  }
  return null;
}

/**
 * Kafka may start at the same time, and no broker knows at once what another has made. Only an
 * answer that Kafka would give again is definite: kafkajs also throws plain errors where a
 * connection was lost.
 */
export function mayPass(error: unknown): boolean {
  for (let cause = firstOf(error); cause instanceof Error; cause = cause.cause) {
    if ("type" in cause && "retriable" in cause) return cause.retriable === true;
  }
  return true;
}

/** `createTopics` wraps one error for each topic. */
export function firstOf(error: unknown): unknown {
  const inner = error instanceof Error && "errors" in error ? error.errors : null;
  return Array.isArray(inner) ? inner[0] : error;
}

/** The user lacks a right, on a topic, a group or the cluster. */
export function isNotAllowed(error: unknown): boolean {
  return kafkaErrorType(error)?.endsWith("_AUTHORIZATION_FAILED") ?? false;
}

/** kafkajs hands its cluster to who assigns partitions: the public way to requests of our own. */
function partsOf(kafka: Kafka): { readonly cluster: Cluster; readonly assigner: Assigner } {
  let found: { cluster: Cluster; assigner: Assigner } | undefined;
  kafka.consumer({
    groupId: "none",
    allowAutoTopicCreation: false,
    partitionAssigners: [
      (given) => {
        const assigner = kafkajs.PartitionAssigners.roundRobin(given);
        found = { cluster: given.cluster, assigner };
        return assigner;
      },
    ],
  });
  if (found === undefined) throw new Error("this kafkajs hands out no cluster");
  return found;
}

/** Our own loops say what matters, so these are for looking closer. */
function report(logger: Logger, { namespace, log: { message } }: LogEntry): void {
  logger.debug({ namespace }, `kafkajs: ${message}`);
}

/** A connection of its own for what an administrator does. @throws what `work` throws */
export async function asAdmin<T>(
  settings: KafkaSettings,
  logger: Logger,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const connection = new KafkaConnection(settings, logger);
  const admin = connection.kafka.admin();
  try {
    return await connection.within(limits.kafkaStartMsMax, async () => {
      await admin.connect();
      return work(admin);
    });
  } finally {
    connection.abandon();
  }
}
