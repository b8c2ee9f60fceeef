/**
 * One Kafka node (KRaft, broker and controller in one) from its Maven artifact. Needs Java 17 and,
 * the first time, Maven; the jars are kept under `node_modules/.cache`.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFile } from "../../runtime/project-root.js";
import { type LocalServer, startServer } from "./server.js";

export const kafkaVersion = "4.1.1";
/** Of what writes its log; the slf4j among its jars takes no other. */
const slf4jVersion = "1.7.36";
const copyJars = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
/** For a broker that lives minutes: the second compiler would cost more than all its work. */
const javaOptions = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
/** To standard error, with the time of day of every line. */
const logOptions = [
  "-Dorg.slf4j.simpleLogger.showDateTime=true",
  "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
];
/** The same for every folder: it only keeps the nodes of one cluster from joining another. */
const clusterId = "cmV2ZW51ZS1sb2NhbC0xMQ";

export interface LocalKafka {
  /** Its data; started again on the same folder it goes on. */
  readonly folder: string;
  readonly port: number;
  /** Lines of `server.properties`, added to those here or instead of them. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Passwords by user, for SCRAM-SHA-512; they begin with the folder. */
  readonly scramUsers?: Readonly<Record<string, string>>;
}

/** The server's `url` is what `KAFKA_BROKERS` takes. @throws with what is to be installed */
export async function startKafka(options: LocalKafka): Promise<LocalServer> {
  return startBroker(options, await javaWords());
}

async function startBroker(options: LocalKafka, java: JavaWords): Promise<LocalServer> {
  const { folder, port, scramUsers = {} } = options;
  const settings = join(folder, "server.properties");
  await mkdir(folder, { recursive: true });
  await writeFile(settings, propertiesText(options, await freePort()));
  if (!existsSync(join(folder, "data", "meta.properties"))) {
    const format = ["format", "--cluster-id", clusterId, "--config", settings];
    const users = Object.entries(scramUsers).flatMap(([name, password]) => [
      "--add-scram",
      `SCRAM-SHA-512=[name=${name},password=${password}]`,
    ]);
    await run([...java, "kafka.tools.StorageTool", ...format, ...users]);
  }
  return startServer({
    name: "Kafka",
    url: `127.0.0.1:${port}`,
    command: [...java, "kafka.Kafka", settings],
    logFile: join(folder, "kafka.log"),
    isReady: () => takesConnections(port),
  });
}

/** What clients of one `client.id` may read, in bytes a second: beyond it the broker holds back. */
export async function limitReading(url: string, clientId: string, bytesMax: number): Promise<void> {
  const change = ["--alter", "--add-config", `consumer_byte_rate=${bytesMax}`];
  const whom = ["--entity-type", "clients", "--entity-name", clientId];
  const command = [...(await javaWords()), "kafka.admin.ConfigCommand"];
  await run([...command, "--bootstrap-server", url, ...change, ...whom]);
}

/** Of a command up to the class that it runs. */
type JavaWords = readonly [string, ...string[]];

/** Made ready once, though several brokers are started together. */
let prepared: Promise<JavaWords> | undefined;

function javaWords(): Promise<JavaWords> {
  return (prepared ??= withClassArchive());
}

/**
 * Java reads Kafka's classes as it had them in memory, which saves half the work of a start. One
 * broker starts and ends for it. Java ignores an archive of another version of itself.
 */
async function withClassArchive(): Promise<JavaWords> {
  const jars = await kafkaJars();
  const archive = join(jars, "classes.jsa");
  const java = (option: string): JavaWords => [
    "java",
    ...javaOptions,
    ...logOptions,
    option,
    "-cp",
    join(jars, "*"),
  ];
  if (!existsSync(archive)) {
    const partial = `${archive}.${process.pid}`;
    const folder = await mkdtemp(join(tmpdir(), "kafka-classes-"));
    const options = { folder, port: await freePort() };
    const broker = await startBroker(options, java(`-XX:ArchiveClassesAtExit=${partial}`));
    const exited = once(broker.process, "exit");
    broker.process.kill();
    await exited;
    await rename(partial, archive);
    await rm(folder, { recursive: true, force: true });
  }
  return java(`-XX:SharedArchiveFile=${archive}`);
}

/** The folder with Kafka's jars, fetched when absent. */
async function kafkaJars(): Promise<string> {
  const folder = projectFile(
    "node_modules",
    ".cache",
    `kafka-${kafkaVersion}-slf4j-${slf4jVersion}`,
  );
  if (existsSync(folder)) return folder;
  await run(["java", "-version"], "Java 17 or later runs it");
  // Renamed when complete: another start, or one cut short, must not leave half of them.
  const partial = `${folder}.${process.pid}`;
  const pom = projectFile("ops", "servers", "kafka-pom.xml");
  const where = ["-DincludeScope=runtime", `-DoutputDirectory=${partial}`];
  const versions = [`-Dkafka.version=${kafkaVersion}`, `-Dslf4j.version=${slf4jVersion}`];
  await run(["mvn", "-q", "-B", "-f", pom, ...versions, copyJars, ...where], "Maven fetches it");
  await rename(partial, folder).catch((error: unknown) => {
    if (!existsSync(folder)) throw error;
  });
  await rm(partial, { recursive: true, force: true });
  return folder;
}

function propertiesText({ folder, port, properties }: LocalKafka, controllerPort: number): string {
  const lines = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": join(folder, "data"),
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    // The default keeps 128 MB free for deduplication, a quarter of this heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
    ...properties,
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** @param needed reported when the program is not there */
async function run([program = "", ...words]: readonly string[], needed = ""): Promise<void> {
  try {
    await promisify(execFile)(program, words);
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isMissing) throw error;
    throw new Error(`Kafka cannot be started: ${program} is not installed. ${needed}`, {
      cause: error,
    });
  }
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } finally {
    socket.destroy();
  }
}

/** The usual port, or any when somebody has that. */
export async function freePort(usual = 0): Promise<number> {
  for (const port of [usual, 0]) {
    const server = createServer().listen(port, "127.0.0.1");
    // Rejects when the port is taken.
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const address = server.address();
    server.close();
    if (address !== null && typeof address === "object") return address.port;
  }
  throw new Error("no port is free");
}
