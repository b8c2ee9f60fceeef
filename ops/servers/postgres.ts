/**
 * The machine's own Postgres server on a folder of its own, for development and tests. Its
 * superuser is `postgres` with a password made up for the folder; it listens on loopback only.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { type LocalServer, startServer } from "./server.js";

const run = promisify(execFile);

export interface PostgresOptions {
  /** Made when it is not there; a cluster that is in it goes on. */
  readonly folder: string;
  readonly port: number;
  /** Of postgresql.conf, added to those here or instead of them. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** @throws with a sentence for a person when there is no Postgres, or it does not start */
export async function startPostgres(options: PostgresOptions): Promise<LocalServer> {
  const { folder, port, settings = {} } = options;
  const programs = await findPostgres();
  if (programs === null) throw new Error(postgresMissing);
  await mkdir(folder, { recursive: true });
  const password = await makeCluster(programs, folder);
  const [program, ...words] = asUser([
    join(programs, "postgres"),
    "-D",
    join(folder, "data"),
    `--port=${port}`,
    "--listen_addresses=127.0.0.1",
    // No socket file: its folder belongs to the machine's own server.
    "--unix_socket_directories=",
    ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
  ]);
  return startServer({
    name: "Postgres",
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    command: [program, ...words],
    logFile: join(folder, "postgres.log"),
    // SIGTERM would wait for every client to leave first.
    stopSignal: "SIGINT",
    isReady: async () => {
      await run(join(programs, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]);
      return true;
    },
  });
}

/** For a test that is left out, and for who starts the servers without it. */
export const postgresMissing =
  "Postgres is not installed here: apt-get install postgresql, or put its programs on the PATH";

/** The folder of the newest server's programs; null: there is none. */
export async function findPostgres(): Promise<string | null> {
  const debian = "/usr/lib/postgresql";
  const versions = await readdir(debian).catch(() => []);
  const folders = [
    ...versions.toSorted((a, b) => Number(b) - Number(a)).map((one) => join(debian, one, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb"))) ?? null;
}

/** @returns the password of its superuser */
async function makeCluster(programs: string, folder: string): Promise<string> {
  const passwordFile = join(folder, "password");
  // Written last: what an interrupted start left is made anew.
  if (existsSync(join(folder, "made"))) return (await readFile(passwordFile, "utf8")).trim();
  const password = randomBytes(16).toString("hex");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  const data = join(folder, "data");
  await rm(data, { recursive: true, force: true });
  // Postgres refuses to run as root, so its own user has to reach the folder.
  if (isRoot()) await run("chown", ["postgres", folder, passwordFile]);
  const [program, ...words] = asUser([
    join(programs, "initdb"),
    `--pgdata=${data}`,
    "--username=postgres",
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--encoding=UTF8",
    "--no-locale",
  ]);
  await run(program, words);
  await writeFile(join(folder, "made"), "");
  return password;
}

function asUser(command: [string, ...string[]]): [string, ...string[]] {
  if (!isRoot()) return command;
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", ...command];
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
