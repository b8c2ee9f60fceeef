/** Commands that must be alone, as the service and they are opened over Kafka and Postgres. */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect } from "chai";
import { openService } from "../../runtime/start/open.js";
import { Releases } from "../../runtime/releases.js";
import { OthersRun } from "../../stores/postgres/exclusive-lease.js";
import { readConfig } from "../../config.js";
import { startKafka } from "../../ops/servers/kafka.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import { rejection } from "../harness/promises.js";
import { serveHttp } from "../harness/loopback.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { freePort } from "../harness/service-process.js";
import { testLogger } from "../harness/stores.js";

describe("A command that must be alone, over servers", function suite() {
  this.timeout(180_000);
  const own = suiteOnServers("alone", ["kafka", "postgres"]);
  let settings: NodeJS.ProcessEnv;
  before(async function begin() {
    const [port, kafkaPort] = [await freePort(), await freePort()];
    const postgres = own.keep(await startPostgres({ folder: `${own.folder}/postgres`, port }));
    const kafkaOptions = { folder: `${own.folder}/kafka`, port: kafkaPort };
    const kafka = own.keep(await startKafka(kafkaOptions));
    settings = {
      DATABASE_URL: postgres.url,
      KAFKA_BROKERS: kafka.url,
      KAFKA_PARTITIONS: "1",
      // Nobody is there.
      CLICKHOUSE_URL: "http://127.0.0.1:1",
      VAULT_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
      ADMIN_TOKEN: randomBytes(32).toString("hex"),
      RATES_REFRESH: "off",
    };
  });

  /** @returns the end of what was opened */
  async function open(
    options: { readonly alone?: boolean; readonly withoutClickHouse?: boolean },
    more: NodeJS.ProcessEnv = {},
  ) {
    const releases = new Releases(testLogger);
    try {
      const config = readConfig({ ...settings, ...more });
      await openService(config, { logger: testLogger, releases, ...options });
    } catch (error) {
      await releases.release();
      throw error;
    }
    return () => releases.release();
  }
  const start = () => open({ withoutClickHouse: true });
  const begin = () => open({ alone: true, withoutClickHouse: true });

  it("should start nothing beside it until it has ended", async () => {
    const end = await begin();
    for (const opened of [start, begin, () => open({})]) {
      expect(String(await rejection(opened()))).to.include(
        "A command that needs these servers for itself",
      );
    }
    await end();
    const stop = await start();
    expect(String(await rejection(begin()))).to.include("1 process runs");
    await stop();
    await (
      await begin()
    )();
  });

  it("should see a start that waits for its stores", async () => {
    let held = (_answer: ServerResponse): void => {};
    const asked = new Promise<ServerResponse>((resolve) => (held = resolve));
    const url = await serveHttp("slow ClickHouse", (_request, answer) => held(answer));
    const waiting = rejection(open({}, { CLICKHOUSE_URL: url }));
    const answer = await asked;
    expect(await rejection(begin())).to.be.instanceOf(OthersRun);
    // Its version, which is too old: the start gives up at once.
    answer.end("1.1\n");
    expect(String(await waiting)).to.include("CLICKHOUSE_URL");
  });
});
