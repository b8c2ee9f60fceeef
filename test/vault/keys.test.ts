import { expect } from "chai";
import { createKey, listKeys, revokeKey, drawKey, openKeys } from "../../workspaces/keys.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";

describe("API keys", () => {
  let postgres: Postgres;
  let workspace: string;
  let clock: number;
  /** ms by the clock that is never set */
  let elapsedMs = 0;
  before(async () => {
    postgres = await openTestPostgres();
    const given = { name: "Keys", base_currency: "JPY" } as const;
    workspace = (await createWorkspace(postgres, given, new Date())).id;
  });
  beforeEach(() => {
    clock = Date.now();
  });

  const clocks = { now: () => clock, elapsed: () => elapsedMs };
  const open = () => openKeys({ postgres, logger: testLogger, ...clocks });
  const create = (expiresAt: Date | null = null) =>
    createKey(
      postgres,
      workspace,
      { environment: "test", scope: "Read-only", name: null, expires_at: expiresAt },
      new Date(clock),
    );
  const found = async (keys: ReturnType<typeof open>, key: string) => {
    const look = await keys.look(key);
    return look.ok ? "ok" : look.code;
  };

  it("should have the shape of definitions.md and never repeat", () => {
    const drawn = Array.from({ length: 200 }, () => drawKey("live"));
    for (const key of drawn) expect(key).to.match(/^svc_live_[0-9A-Za-z]{38}$/);
    expect(drawKey("test")).to.match(/^svc_test_/);
    expect(new Set(drawn).size).to.equal(drawn.length);
  });

  it("should say who calls", async () => {
    const { key, record } = await create();
    expect(await open().look(key)).to.deep.equal({
      ok: true,
      access: {
        workspace,
        environment: "test",
        keyId: record.id,
        scope: "Read-only",
        baseCurrency: "JPY",
      },
    });
  });

  it("should not store the key", async () => {
    const { key, record } = await create();
    const [row] = await postgres.query("SELECT * FROM api_keys WHERE id = $1", [record.id]);
    expect(JSON.stringify(row)).to.not.include(key.slice(20));
  });

  it("should refuse a mistyped key without asking the database", async () => {
    const { key } = await create();
    const asking = { ...postgres, query: () => Promise.reject(new Error("asked")) };
    const keys = openKeys({ postgres: asking, logger: testLogger });
    const last = key.endsWith("0") ? "1" : "0";
    for (const wrong of [
      key.slice(0, -1) + last,
      key.slice(0, -1),
      key.replace("test", "live"),
      `${key}0`,
      key.toUpperCase(),
      "svc_live_",
      "",
      `svc_live_${"0".repeat(38)}`,
    ]) {
      expect(await found(keys, wrong), wrong).to.equal("key_malformed");
    }
  });

  it("should refuse a well-formed key nobody made", async () => {
    expect(await found(open(), drawKey("live"))).to.equal("key_unknown");
  });

  it("should see a revocation at once here, and after 5 s in another process", async () => {
    const { key, record } = await create();
    const [here, other] = [open(), open()];
    expect(await found(here, key)).to.equal("ok");
    expect(await found(other, key)).to.equal("ok");
    await revokeKey(postgres, workspace, record.id, new Date(clock));
    here.forget();
    expect(await found(here, key)).to.equal("key_revoked");
    // Also where the clock is set back meanwhile.
    clock -= 3_600_000;
    elapsedMs += 5_000;
    expect(await found(other, key)).to.equal("key_revoked");
  });

  it("should end at its expiry to the millisecond, cached or not", async () => {
    const { key } = await create(new Date(clock + 1_000));
    const keys = open();
    clock += 999;
    expect(await found(keys, key)).to.equal("ok");
    clock += 1;
    expect(await found(keys, key)).to.equal("key_expired");
    expect(await found(open(), key)).to.equal("key_expired");
  });

  it("should write down its last use, at most once a minute", async () => {
    const { key, record } = await create();
    const writes: unknown[] = [];
    const counting: Postgres = {
      query: (sql, values) => {
        if (sql.startsWith("UPDATE")) writes.push(values);
        return postgres.query(sql, values);
      },
      transaction: (run) => postgres.transaction(run),
      close: () => Promise.resolve(),
    };
    const keys = openKeys({ postgres: counting, logger: testLogger, ...clocks });
    await keys.look(key);
    elapsedMs += 59_999;
    await keys.look(key);
    expect(writes).to.have.length(1);
    elapsedMs += 1;
    await keys.look(key);
    expect(writes).to.have.length(2);
    const page = { rowsMax: 100, after: null };
    const listed = (await listKeys(postgres, workspace, page)).find(({ id }) => id === record.id);
    expect(listed?.last_used_at).to.be.instanceOf(Date);
  });
});
