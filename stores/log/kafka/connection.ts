/**
 * One connection to a Kafka cluster that can be abandoned at once. kafkajs may wait for ever for a
 * broker that went away at the wrong moment, so every wait here has a limit, and the sockets are
 * ours to close.
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

/** For reaching a broker, for one answer, and for one try of everything at start. */
const kafkaConnectMsMax = 2_000;
/**
 * Larger than any answer of Kafka; the first letters of other protocols read as a longer length.
 */
const kafkaAnswerBytesMax = 1024 * 1024 * 1024;

export interface KafkaSettings {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly tls: ConnectionOptions | null;
  readonly sasl: SASLOptions | null;
  /** Left out where nothing is known of other processes. */
  readonly processes?: Processes;
  /** How long an append may wait; default: `limits.kafkaAppendMsMax`. */
  readonly appendMsMax?: number;
  /** How long running batches may hold up a group; default: `limits.kafkaRebalanceMsMax`. */
  readonly rebalanceMsMax?: number;
}

export interface Processes {
  readonly own: string;
  silent(): Promise<ReadonlySet<string>>;
}

/** The name of a process's connections for Kafka and its logs. */
export function clientIdOf(process: string | undefined): string {
  return process === undefined ? "revenue" : `revenue-${process}`;
}

export class KafkaConnection {
  readonly kafka: Kafka;
  /** For our own requests to single brokers; not connected yet. */
  readonly cluster: Cluster;
  /** Assigns a group's partitions to its members, as kafkajs' own consumers do. */
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
      // The callers retry, with a time limit of their own.
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

  /** @throws what `work` throws, or that it took too long; then the connection is abandoned */
  async within<T>(msMax: number, work: () => Promise<T>): Promise<T> {
    return await answered("Kafka", work(), msMax, () => this.abandon());
  }

  /** Connected, and knows the topic. */
  async ready(topic: string): Promise<Cluster> {
    await this.cluster.connect();
    await this.cluster.addTargetTopic(topic);
    return this.cluster;
  }

  /** Makes all pending requests fail; nothing more is sent. Safe to call twice. */
  abandon(): void {
    this.#isAbandoned = true;
    for (const socket of this.#sockets) socket.destroy(new Error("the connection was given up"));
  }

  #open(host: string, port: number, tls: ConnectionOptions, onConnect: () => void): Socket {
    if (this.#isAbandoned) throw new Error("the connection was given up");
    const name = isIP(host) === 0 ? { servername: host } : {};
    // kafkajs types `ssl` as always present; without TLS it is missing.
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

/** Error codes for a connection whose other end does not speak Kafka's protocol. */
export const NoKafka = { http: "ENOKAFKA_HTTP", tls: "ENOKAFKA_TLS", other: "ENOKAFKA" } as const;

/** kafkajs would read the first bytes as a length and wait for a gigabyte. */
function refuseStranger(socket: Socket, first: Buffer): void {
  const code = strangerOf(first);
  if (code === null) return;
  socket.destroy(Object.assign(new Error("the server that answers is not Kafka"), { code }));
}

/** The type and major version of a TLS record (RFC 8446, 5.1). */
const tlsAlert = Buffer.from([21, 3]);
const lengthBytes = 4;

/** Null: it may be Kafka, whose answers begin with their length. */
function strangerOf(first: Buffer): string | null {
  if (first.subarray(0, tlsAlert.length).equals(tlsAlert)) return NoKafka.tls;
  const isLength = first.length < lengthBytes || first.readUInt32BE() < kafkaAnswerBytesMax;
  if (isLength) return null;
  return first.toString("latin1").startsWith("HTTP/") ? NoKafka.http : NoKafka.other;
}

/** Methods of kafkajs' brokers that its types leave out. */
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

/** Kafka's own name of the error, such as `ILLEGAL_GENERATION`; null for other errors. */
export function kafkaErrorType(error: unknown): string | null {
  for (let cause = firstOf(error); cause instanceof Error; cause = cause.cause) {
    if ("type" in cause && typeof cause.type === "string") return cause.type;
  }
  return null;
}

/**
 * Whether the error may pass: Kafka may be starting, and brokers learn late what another has made.
 * Only an answer that Kafka would give again is definite; kafkajs also throws plain errors for lost
 * connections.
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

/** The user lacks a right on a topic, a group or the cluster. */
export function isNotAllowed(error: unknown): boolean {
  return kafkaErrorType(error)?.endsWith("_AUTHORIZATION_FAILED") ?? false;
}

/**
 * kafkajs gives its cluster to the partition assigner, which is the public way to our own requests.
 */
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

/** Our own loops log what matters; these lines are for debugging. */
function report(logger: Logger, { namespace, log: { message } }: LogEntry): void {
  logger.debug({ namespace }, `kafkajs: ${message}`);
}

/**
 * A connection of its own for administration.
 * @throws what `work` throws
 */
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
