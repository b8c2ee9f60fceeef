/** Statements that are sent while ClickHouse servers are killed, stopped and cut off. */
import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { type ClickHouse, StoreUnavailable } from "../../stores/clickhouse/clickhouse.js";
import { migrateClickHouse } from "../../stores/migrations.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { projectFile } from "../../runtime/project-root.js";
import { testLogger } from "../harness/stores.js";

/** Repeats a statement until it is done. */
export async function untilDone<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pause(20);
    }
  }
}

/**
 * Writes one after the other, each repeated until it is done.
 * @param torments by the number of the write during which each begins
 */
export async function writeAmid(
  torments: ReadonlyMap<number, () => Promise<void> | void>,
  writes: readonly (() => Promise<void>)[],
): Promise<void> {
  const begun: Promise<void>[] = [];
  for (const [number, write] of writes.entries()) {
    // Each write takes longer than this.
    setTimeout(() => begun.push(Promise.resolve(torments.get(number)?.())), 5);
    await untilDone(write);
  }
  await Promise.all(begun);
}

export async function pauseServer({ process }: LocalServer, meanwhile = async () => {}) {
  process.kill("SIGSTOP");
  await meanwhile();
  await pause(300);
  process.kill("SIGCONT");
}

/** By several processes at once. */
export async function expectMigrated(processes: readonly [ClickHouse, ...ClickHouse[]]) {
  await Promise.all(processes.map((one) => migrateClickHouse(one, testLogger)));
  for (const node of processes[0].nodes) {
    const [row] = await node.rows<{ applied: string; files: string }>(
      "SELECT count() AS applied, uniqExact(number) AS files FROM migrations",
    );
    const files = readdirSync(projectFile("migrations", "clickhouse"));
    expect(Number(row?.files)).to.equal(files.length);
    expect(row?.applied).to.equal(row?.files);
  }
}
