/** Runs `npm run demo` as a child process, which ends when the service does. */
import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { DemoView } from "../../../schemas/http/manage.js";
import { writeLinkFile } from "../../../workspaces/members/first-run.js";

const program = fileURLToPath(new URL("../../../ops/demo.js", import.meta.url));
/** Characters of its output that are shown when it fails. */
const saidMax = 2_000;

export class DemoProcess {
  readonly #folder: string;
  #child: ChildProcess | null = null;
  /** Its last line, or why it failed; null before the first start. */
  #said: string | null = null;
  /** The address of its dashboard, once its figures are there. */
  #url: string | null = null;

  /** @param dataFolder of this service: the demo's lies beside it */
  constructor(dataFolder: string) {
    this.#folder = join(dirname(resolve(dataFolder)), "demo-data");
  }

  /** False where it is not part of the installation, as in the image for servers. */
  static get isInstalled(): boolean {
    return existsSync(program);
  }

  begin(): void {
    if (this.#child !== null) return;
    this.#url = null;
    this.#said = "Starting";
    const child = fork(program, ["--folder", this.#folder], {
      env: { ...process.env, PORT: "0" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    child.stdout?.on("data", (chunk: Buffer) => {
      this.#said = chunk.toString().trim().split("\n").at(-1) ?? null;
    });
    let wrong = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      if (wrong.length < saidMax) wrong += chunk.toString();
    });
    child.on("message", (message) => {
      if (typeof message === "string") this.#url = message;
    });
    child.on("error", ({ message }) => (wrong += message));
    // Its end; "close" is not emitted for a child that was disconnected.
    child.stderr?.on("close", () => {
      this.#child = null;
      this.#url = null;
      this.#said = wrong.trim().slice(0, saidMax) || "The demo has ended.";
    });
  }

  /** It then ends by itself within seconds. */
  end(): void {
    this.#child?.disconnect();
  }

  get progress(): Pick<DemoView, "state" | "said"> {
    const said = this.#said;
    if (this.#child === null) return { state: said === null ? "none" : "failed", said };
    return { state: this.#url === null ? "starting" : "ready", said };
  }

  /**
   * A link that signs in once. Cookies ignore ports, so the demo is addressed by the other name of
   * this machine; under the same name it would end the session of this service.
   * @param host by which the browser knows this service
   */
  linkFrom(host: string): string | null {
    if (this.#url === null) return null;
    const url = new URL(this.#url);
    url.hostname = host === "localhost" ? "127.0.0.1" : "localhost";
    url.pathname = "/setup";
    url.search = "now";
    url.hash = writeLinkFile(join(this.#folder, "data"), new Date());
    return url.href;
  }
}
