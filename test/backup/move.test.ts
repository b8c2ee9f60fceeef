/**
 * An embedded installation moves to real servers (with `BACKENDS=cluster` to two shards of
 * ClickHouse) and on to embedded backends again. What it answers stays what it was, offsets
 * included, and what was under way is gone on with.
 */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { openPostgres } from "../../stores/postgres/open.js";
import { settingsOf, startServers, stopServers } from "../../ops/servers/all.js";
import { onCluster } from "../harness/backends.js";
import { placeDatabase } from "../harness/empty-database.js";
import { clusterName, startCluster } from "../clickhouse/cluster-servers.js";
import { type Clocks, answersOf, expectSameAnswers } from "../model/compare/answers.js";
import type { ModelEvent } from "../model/facts.js";
import { list } from "../model/readers/json.js";
import { clocksOf, expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";
import { type Merchant, openMerchant, read, sendAll, whenBooked } from "../model/merchant.js";
import type { Sent } from "../model/stories/story.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { freePort, runCommand, SuiteService } from "../harness/service-process.js";
import { testLogger } from "../harness/stores.js";

type Settings = Readonly<Record<string, string>>;

describe("Moving", function suite() {
  this.timeout(600_000);
  const service = new SuiteService();
  const own = suiteOnServers("move", ["kafka", "clickhouse", "postgres"]);
  let merchant: Merchant;
  let reported: ModelEvent[];
  let later: readonly Sent[];
  let clocks: readonly Clocks[];
  let answers: ReadonlyMap<string, unknown>;
  let onServers: Settings;
  const embedded = {
    VAULT_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    ADMIN_TOKEN: randomBytes(32).toString("hex"),
  };
  const path = (name: string): string => join(own.folder, name);

  before(async function begin() {
    const cluster = onCluster ? own.keep(await startCluster(path("clickhouse"), 2)) : undefined;
    const first = cluster?.server(0);
    const clickhouse = first && { clickhouse: () => Promise.resolve(first) };
    const servers = await startServers({ folder: own.folder, freePort, ...clickhouse });
    own.keep({ stop: () => stopServers(servers) });
    await placeDatabase(path("first"));
    onServers = {
      ...embedded,
      ...settingsOf(servers),
      ...(cluster === undefined
        ? {}
        : {
            CLICKHOUSE_URL: `${cluster.urls[0]}/moved`,
            CLICKHOUSE_CLUSTER: clusterName,
            CLICKHOUSE_SHARD_URLS: cluster.urls.join(","),
          }),
    };
    const { endpoint } = await service.start(path("first"), embedded);
    merchant = await openMerchant(endpoint, "EUR");
    const events = largestPortfolio();
    const third = Math.floor(events.length / 3);
    reported = await sendAll(merchant, events.slice(0, third));
    const knownAt = await whenBooked(merchant);
    reported.push(...(await sendAll(merchant, events.slice(third, 2 * third))));
    later = events.slice(2 * third);
    await whenBooked(merchant);
    clocks = clocksOf(knownAt);
    answers = await answersOf(merchant, clocks);
    await service.stop();
  });

  it("should refuse another vault key before anything is written", async () => {
    writeFileSync(path("other.env"), `DATA_DIR=${path("none")}\nCLICKHOUSE_URL=http://localhost:1`);
    const moved = await move(path("first"), embedded, "other.env");
    expect(moved.reported).to.include("needs the same VAULT_ENCRYPTION_KEY");
    expect(moved.code).to.equal(2);
  });

  it("should carry everything from embedded backends to servers", async () => {
    write("servers.env", onServers);
    const moved = await move(path("first"), embedded, "servers.env");
    expect(moved.code, moved.reported).to.equal(0);
    await goOn(path("unused"), onServers);
    expectSameAnswers(await answersOf(merchant, clocks), answers);
  });

  it("should carry everything back, with what was not booked yet", async () => {
    reported.push(...(await sendAll(merchant, later)));
    await service.kill();
    write("embedded.env", { ...embedded, DATA_DIR: path("second") });
    await forgetKilled();
    const moved = await move(path("unused"), onServers, "embedded.env");
    expect(moved.code, moved.reported).to.equal(0);
    await goOn(path("second"), embedded);
    await expectModel(merchant, reported);
    // The names of products have no past, and events of this round may have reported them.
    const metrics = (asked: string): boolean => /^\/v1\/metrics\/.*known_at/.test(asked);
    for (const [asked, answer] of await answersOf(merchant, clocks)) {
      if (metrics(asked)) expect(answer, asked).to.deep.equal(answers.get(asked));
    }
    for (const [asked, answer] of answers) {
      if (!asked.startsWith("/v1/events/")) continue;
      const found = await read(merchant, asked.replace(" {}", ""));
      // Each at its old place on the log, under a seal that opens; it may have been sent again.
      const before = list(answer, "deliveries");
      expect(before, asked).to.not.deep.equal([]);
      expect(list(found, "data", "deliveries"), asked).to.include.deep.members(before);
    }
    await service.stop();
    const audited = await runCommand(path("second"), ["audit"], embedded);
    expect(audited.reported).to.match(/^No differences \([1-9]/m);
  });

  function write(name: string, settings: Settings): void {
    const lines = Object.entries(settings).map(([setting, value]) => `${setting}=${value}\n`);
    writeFileSync(path(name), lines.join(""));
  }

  function move(from: string, settings: Settings, to: string) {
    const words = ["move", "--to", path(to), "--through", path("backups")];
    return runCommand(from, words, settings);
  }

  /** As if the 10 seconds had passed for which a process that was killed counts. */
  async function forgetKilled(): Promise<void> {
    const postgres = await openPostgres({ url: onServers["DATABASE_URL"] ?? "" }, testLogger);
    await postgres.query("UPDATE ingest_processes SET until = clock_timestamp()");
    await postgres.close();
  }

  async function goOn(data: string, settings: Settings): Promise<void> {
    await service.start(data, settings);
    await whenBooked(merchant);
  }
});
