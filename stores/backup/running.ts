/** Backups requested while the service works, one at a time. */
import type { Service } from "../../service.js";
import type { BackupView } from "../../schemas/http/manage.js";
import { type BackupOrder, writeBackup } from "./write.js";

export class RunningBackups {
  /** Since this process started. */
  last: BackupView | null = null;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly service: Service) {
    service.releases.push("backup", async () => {
      this.#stopping.abort(new Error("the service was stopped"));
      await this.#running;
    });
  }

  /** @returns what has begun; null: a backup is already being made */
  begin(order: Omit<BackupOrder, "signal">): BackupView | null {
    if (this.last?.state === "running") return null;
    const begun: BackupView = {
      to: order.to,
      state: "running",
      started_at: new Date().toISOString(),
      ended_at: null,
      path: null,
      bytes: null,
      problem: null,
    };
    this.last = begun;
    this.#running = this.#run(begun, order);
    return begun;
  }

  async #run(begun: BackupView, order: BackupOrder): Promise<void> {
    try {
      const made = await writeBackup(this.service, { ...order, signal: this.#stopping.signal });
      this.last = { ...begun, state: "done", ended_at: new Date().toISOString(), ...made };
    } catch (error) {
      this.service.logger.error({ err: error, to: order.to }, "a backup could not be made");
      const problem = error instanceof Error ? error.message : String(error);
      this.last = { ...begun, state: "failed", ended_at: new Date().toISOString(), problem };
    }
  }
}
