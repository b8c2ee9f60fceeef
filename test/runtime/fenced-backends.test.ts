/** What a command that must be alone still does once it may not be alone any more: nothing. */
import { expect } from "chai";
import { noClickHouse } from "../../stores/clickhouse/unused.js";
import type { Log } from "../../stores/log/log.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { OthersRun } from "../../stores/postgres/exclusive-lease.js";
import { fenceBackends } from "../../runtime/start/open-state.js";
import { topics } from "../../schemas/records/records.js";
import { rejection } from "../harness/promises.js";

describe("A command that is not alone any more", () => {
  let isAlone: boolean;
  let done: string[];
  beforeEach(() => {
    [isAlone, done] = [true, []];
  });

  const sole = {
    check() {
      if (!isAlone) throw new OthersRun("others");
    },
  };
  const doing = (what: string) => async () => {
    done.push(what);
  };
  const query = async <T>(sql: string): Promise<T[]> => {
    done.push(sql);
    return [];
  };
  const postgres: Postgres = {
    query,
    async transaction(run) {
      const result = await run({ query });
      done.push("commit");
      return result;
    },
    close: async () => undefined,
  };
  const none = (): never => {
    throw new Error("not asked for");
  };
  const log: Log = {
    shared: true,
    append: async () => doing("append")().then(() => []),
    checkAppends: none,
    seek: doing("seek"),
    widen: doing("widen"),
    begin: doing("begin"),
    place: doing("place"),
    consume: none,
    tail: none,
    read: none,
    partitionOf: none,
    ends: none,
    earliest: none,
    committed: none,
    handled: none,
    close: async () => undefined,
  };
  const clickhouse = { ...noClickHouse, write: doing("write"), append: doing("append rows") };
  const used = fenceBackends({ clickhouse, log, postgres }, sole);

  const batch = { table: "ledger", structure: "a Int8", rows: "1\n", token: "t", mayBeThere: true };
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    write: () => used.clickhouse.write("INSERT", {}, "bookkeeping"),
    "append rows": () => used.clickhouse.append(batch),
    append: () => used.log.append(topics.raw, []),
    seek: () => used.log.seek(topics.raw, "group", new Map()),
    widen: () => used.log.widen(topics.raw, 2),
    begin: () => used.log.begin(topics.raw, 0, 0n),
    place: () => used.log.place(topics.raw, 0, 0n, []),
    DELETE: () => used.postgres.query("DELETE"),
  };
  for (const [what, write] of Object.entries(writes)) {
    it(`should not ${what}`, async () => {
      await write();
      expect(done).to.deep.equal([what]);
      isAlone = false;
      expect(await rejection(write())).to.be.instanceOf(OthersRun);
      expect(done).to.deep.equal([what]);
    });
  }

  it("should go on with no transaction, nor commit one", async () => {
    const begun = used.postgres.transaction(async (sql) => {
      await sql.query("first");
      isAlone = false;
      await sql.query("second");
    });
    expect(await rejection(begun)).to.be.instanceOf(OthersRun);
    isAlone = true;
    const ending = used.postgres.transaction(async () => {
      isAlone = false;
    });
    expect(await rejection(ending)).to.be.instanceOf(OthersRun);
    expect(done).to.deep.equal(["first"]);
  });
});
