/** Processes of one role each, over real servers of this test's own. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Servers, settingsOf, startServers, stopServers } from "../../ops/servers/all.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { projectFile } from "../../runtime/project-root.js";
import type { RoleName } from "../../start.js";
import { giveRights, kafkaWithUsers, loginOf } from "../log/kafka/kafka-users.js";
import type { SuiteServers } from "./real-servers.js";
import { freePort, kill, whenReady } from "./service-process.js";

const [entry, withoutEmbedded] = ["../../main.js", "without-embedded.js"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

export interface RoleProcess {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:<port>` */
  readonly base: string;
  /** What its log says; without `LOG_LEVEL` in its settings next to nothing. */
  readonly logged: () => string;
}

export class Installation {
  readonly adminToken = randomBytes(32).toString("hex");
  readonly #vaultKey = randomBytes(32).toString("hex");
  readonly #processes: RoleProcess[] = [];
  #postgres: LocalServer | null = null;

  private constructor(
    private readonly own: SuiteServers,
    private readonly servers: Servers,
  ) {}

  /** It ends with the suite. */
  static async open(own: SuiteServers): Promise<Installation> {
    const kafka = { properties: kafkaWithUsers };
    const servers = await startServers({ folder: own.folder, freePort, kafka });
    own.keep({ stop: () => stopServers(servers) });
    await giveRights(servers.kafka.url);
    // Nothing may be made where the process runs: it has no folder of its own.
    await mkdir(join(own.folder, "empty"));
    return own.keep(new Installation(own, servers));
  }

  get postgres(): LocalServer {
    return this.#postgres ?? this.servers.postgres;
  }

  /** Started anew, on the same folder and port; the one before has ended. */
  async restartPostgres(): Promise<void> {
    const port = Number(new URL(this.postgres.url).port);
    const folder = join(this.own.folder, "postgres");
    this.#postgres = this.own.keep(await startPostgres({ folder, port }));
  }

  /** Resolves when it is ready. */
  async start(...words: Parameters<Installation["begin"]>): Promise<RoleProcess> {
    const begun = await this.begin(...words);
    await whenReady(begun.child, Number(new URL(begun.base).port));
    return begun;
  }

  /** Resolves when it begins to start. */
  async begin(
    role: RoleName,
    settings: Readonly<Record<string, string>> = {},
    program = entry ?? "",
  ): Promise<RoleProcess> {
    const port = await freePort();
    const words = ["--import", withoutEmbedded ?? "", program, role];
    const child = spawn(process.execPath, [...process.execArgv, ...words], {
      cwd: join(this.own.folder, "empty"),
      env: { ...this.#environment(role, port), ...settings },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let logged = "";
    child.stdout.on("data", (chunk: Buffer) => (logged += chunk.toString()));
    const started = { child, base: `http://127.0.0.1:${port}`, logged: () => logged };
    this.#processes.push(started);
    return started;
  }

  /** The program as an upgrade puts it beside this one. @returns what is to be started */
  async otherVersion(): Promise<string> {
    const folder = join(this.own.folder, "other-version");
    for (const part of [
      "dist",
      "migrations",
      "schemas/released",
      "workspaces/rates/ecb-history.csv.br",
      "docs",
    ]) {
      await cp(projectFile(part), join(folder, part), { recursive: true });
    }
    await symlink(projectFile("node_modules"), join(folder, "node_modules"));
    const text = await readFile(projectFile("package.json"), "utf8");
    const other = text.replace(/"version": "[^"]+"/, '"version": "99.0.0"');
    await writeFile(join(folder, "package.json"), other);
    return join(folder, "dist", "main.js");
  }

  #environment(role: RoleName, port: number): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      ...settingsOf(this.servers),
      ...loginOf(role),
      VAULT_ENCRYPTION_KEY: this.#vaultKey,
      ADMIN_TOKEN: this.adminToken,
      PORT: String(port),
      RATES_REFRESH: "off",
      LOG_LEVEL: process.env.LOG_LEVEL ?? "fatal",
    };
  }

  async close(): Promise<void> {
    for (const { child } of this.#processes) await kill(child);
  }
}
