import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { Readiness } from "../../runtime/readiness.js";
import { Releases } from "../../runtime/releases.js";
import { openStateOnServers } from "../../runtime/start/open-state.js";
import { PostgresState } from "../../stores/state/postgres-state.js";
import { SpreadState } from "../../stores/state/spread-state.js";
import { lmdbTopics } from "../log/log-topics.js";
import { rejection, until } from "../harness/promises.js";
import { needTime } from "../harness/real-servers.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";
import { openOwnPostgres } from "./own-postgres.js";
import { type Book, MemoryState } from "../simulation/memory-state.js";
import { commitOf, describeStateContract, type StateInstallation } from "./state-contract.js";

describeStateContract("LMDB", async () => {
  const path = await mkdtemp(join(tmpdir(), "state-"));
  return {
    open: async () => openLmdbLog({ path, topics: lmdbTopics(), logger: testLogger }),
    beside: (state) => state,
    remove: () => rm(path, { recursive: true }),
  };
});

describeStateContract("memory", async () => {
  const books = new Map<number, Book>();
  const open = () => new MemoryState(books);
  return {
    open: async () => ({ state: open(), close: async () => undefined }),
    beside: open,
    remove: async () => undefined,
  };
});

describeStateContract("Postgres", async () => installedIn(await openTestPostgres()));

describeStateContract("a Postgres server", async (context) => {
  needTime(context);
  const releases = new Releases(testLogger);
  const { postgres } = await openOwnPostgres(context, releases);
  return { ...installedIn(postgres), remove: () => releases.release() };
});

const spread = async (context: Mocha.Context, releases: Releases) => {
  const first = await openOwnPostgres(context, releases);
  const second = await openOwnPostgres(context, releases);
  const opened = () =>
    new SpreadState([first, second].map(({ postgres }) => new PostgresState(postgres)));
  return { postgres: first.postgres, urls: [first.url, second.url], opened };
};

describeStateContract(
  "several Postgres databases",
  async (context) => {
    needTime(context);
    const releases = new Releases(testLogger);
    const { opened } = await spread(context, releases);
    return {
      open: async () => ({ state: opened(), close: async () => undefined }),
      beside: opened,
      remove: () => releases.release(),
    };
  },
  true,
);

describe("The state in several databases", function () {
  this.timeout(60_000);
  const releases = new Releases(testLogger);
  let databases: Awaited<ReturnType<typeof spread>>;
  before(async function () {
    needTime(this);
    databases = await spread(this, releases);
  });
  after(() => releases.release());

  it("should seal in each by turns, and give a batch until it is removed", async () => {
    const state = databases.opened();
    await state.clear();
    for (const partition of [0, 1, 2]) {
      const owned = await state.take(partition);
      await owned.commit(commitOf(1, {}, { rest: `${partition}a` }));
      await owned.commit(commitOf(2, {}, { rest: `${partition}b` }));
    }
    const given: string[][] = [];
    for (;;) {
      const batch = await state.seal("rest", 4);
      if (batch === null) break;
      given.push(batch.entries.map(({ value }) => value.toString()));
      expect(await state.seal("rest", 4)).to.eql({ ...batch, isAgain: true });
      await state.remove(batch);
    }
    expect(given).to.eql([
      ["0a", "2a"],
      ["1a", "1b"],
      ["0b", "2b"],
    ]);
    expect(await state.queuedBytes()).to.equal(0);
  });

  it("should be opened as it was spread, and refused otherwise", async () => {
    const { postgres, urls } = databases;
    const open = (list: string[] | undefined, isUnused = false) =>
      openStateOnServers({
        config: { DATABASE_URL: urls[0], STATE_DATABASE_URLS: list?.join(",") },
        postgres,
        readiness: new Readiness(),
        releases,
        logger: testLogger,
        isUnused,
      });
    await (await open(urls)).take(5);
    await (await open(urls)).take(5);
    const others: [string[] | undefined, RegExp][] = [
      [urls.toReversed(), /database 1 of STATE_DATABASE_URLS has part 2 of 2 of the books, and by/],
      [urls.slice(0, 1), /database 1 .* has part 1 of 2 of the books, and by the settings all/],
      [urls.slice(1), /DATABASE_URL has part 1 of 2 of the books, and by the settings none of/],
      [undefined, /DATABASE_URL has part 1 of 2 .* settings all books; put the setting back/],
    ];
    for (const [other, why] of others) {
      expect(String(await rejection(open(other)))).to.match(why);
    }
    // What books nothing starts without them.
    const unused = await open(["postgres://nobody@127.0.0.1:1/nowhere"], true);
    expect(await unused.queuedBytes()).to.equal(0);
    expect(() => unused.take(0)).to.throw("the state is not opened here");
  });
});

/** How many wait for the table. */
const waitsSql = `
  SELECT count(*)::int4 AS waits FROM pg_locks
  WHERE relation = 'book_partitions'::regclass AND NOT granted`;

function installedIn(postgres: Postgres): StateInstallation {
  return {
    open: async () => ({ state: new PostgresState(postgres), close: async () => undefined }),
    beside: () => new PostgresState(postgres),
    remove: async () => undefined,
  };
}

describe("The state of several processes", function () {
  this.timeout(60_000);
  const releases = new Releases(testLogger);
  after(() => releases.release());

  it("should let nothing that waits for clearing hold it up", async function () {
    needTime(this);
    const { postgres } = await openOwnPostgres(this, releases);
    const state = new PostgresState(postgres);
    const owned = await state.take(0);
    await owned.commit(commitOf(1, {}, { messages: "m", rest: "r", shown: "s" }));
    const batch = await state.seal("rest", 100);
    // What clearing does, slowly enough for all others to come while it is half done.
    const ended = await postgres.transaction(async (sql) => {
      await sql.query("LOCK TABLE book_partitions");
      const others = [
        owned.commit(commitOf(2, { a: "1" }, { messages: "m", rest: "r" }, 1n)),
        owned.isHeld(),
        state.seal("shown", 100),
        state.remove({ lane: "rest", token: batch?.token ?? "" }),
        new PostgresState(postgres).take(1),
      ];
      const outcomes = Promise.allSettled(others);
      for (let waits = 0; waits < others.length;) {
        const [row] = await sql.query<{ waits: number }>(waitsSql);
        waits = row?.waits ?? 0;
      }
      await sql.query("TRUNCATE book_seals, book_outbox, book_values");
      return { outcomes };
    });
    const failures = (await ended.outcomes).filter(({ status }) => status === "rejected");
    expect(failures).to.eql([]);
  });

  it("should ask the server as little as they can", async () => {
    const postgres = await openTestPostgres();
    const statements: string[] = [];
    const state = new PostgresState({
      ...postgres,
      query: (sql, values) => {
        statements.push(sql);
        return postgres.query(sql, values);
      },
    });
    /** Since it was last called. */
    const asked = (): number => statements.splice(0).length;
    await state.clear();
    const owned = await state.take(0);
    expect(asked()).to.equal(1);
    expect(await state.seal("rest", 100)).to.equal(null);
    expect(asked()).to.equal(1);
    const entry = { rest: "1", messages: "2" };
    await owned.commit(commitOf(1, {}, entry));
    expect(asked()).to.equal(1);
    const batch = await state.seal("rest", 100);
    expect(asked()).to.equal(2);
    await state.remove({ lane: "rest", token: batch?.token ?? "" });
    expect(asked()).to.equal(1);
    // As booking asks before each batch of each partition.
    const counts = await Promise.all(Array.from({ length: 20 }, () => state.queuedBytes()));
    expect(asked()).to.be.at.most(1);
    expect(counts).to.eql(Array.from({ length: 20 }, () => "2".length));
  });

  it("should see before long what another process removed", async () => {
    const postgres = await openTestPostgres();
    const [state, other] = [new PostgresState(postgres), new PostgresState(postgres)];
    await state.clear();
    const [lost, kept] = [await state.take(0), await state.take(1)];
    await lost.commit(commitOf(1, {}, { rest: "of the lost" }));
    await kept.commit(commitOf(1, {}, { rest: "of the kept" }));
    await state.seal("rest", 100);
    await other.take(0);
    expect(await state.queuedBytes()).to.equal("of the kept".length);
    const batch = await other.seal("rest", 100);
    expect(batch?.entries).to.have.lengthOf(2);
    if (batch !== null) await other.remove(batch);
    expect(await other.queuedBytes()).to.equal(0);
    await until(async () => (await state.queuedBytes()) === 0);
  });

  it("should seal for a process no more of a partition that another took", async () => {
    const postgres = await openTestPostgres();
    const [stalled, other] = [new PostgresState(postgres), new PostgresState(postgres)];
    await stalled.clear();
    const [lost, kept] = [await stalled.take(0), await stalled.take(1)];
    await lost.commit(commitOf(1, {}, { rest: "lost" }));
    await kept.commit(commitOf(1, {}, { rest: "kept it" }));
    await other.take(0);
    expect(await stalled.queuedBytes()).to.equal("kept it".length);
    expect(await other.queuedBytes()).to.equal("lost".length);
    const [own, others] = [await stalled.seal("rest", 100), await other.seal("rest", 100)];
    expect(own?.entries.map(({ partition }) => partition)).to.eql([1]);
    expect(others?.entries.map(({ partition }) => partition)).to.eql([0]);
  });
});
