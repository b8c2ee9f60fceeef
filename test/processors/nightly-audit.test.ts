/** The night's audit is asked for until it comes to an end, and reported when it does not. */
import { expect } from "chai";
import {
  endAudit,
  failAudit,
  isAuditOverdue,
  listAudits,
  takeAudit,
} from "../../workspaces/audits.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { limits } from "../../config.js";
import { askForTheNight } from "../../processors/audit/run-audits.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";

describe("The nightly audit", () => {
  let postgres: Postgres;
  const workspace = "ws_nightly_audit";
  const madeAt = new Date("2001-03-01T00:00:00Z");

  before(async () => {
    postgres = await openTestPostgres();
    await postgres.query(
      `INSERT INTO workspaces (id, name, base_currency, created_at)
       VALUES ($1, 'Audited', 'EUR', $2)`,
      [workspace, madeAt],
    );
  });
  beforeEach(() => postgres.query("DELETE FROM audits"));
  after(async () => {
    await postgres.query("DELETE FROM audits");
    await postgres.query("DELETE FROM workspaces WHERE id = $1", [workspace]);
  });

  const ask = (at: string) => askForTheNight({ logger: testLogger, postgres }, new Date(at));
  async function states(): Promise<string[]> {
    const rows = await listAudits(postgres, { rowsMax: 10, after: null });
    return rows.map(({ created_at: at, state }) => `${at.toISOString().slice(5, 16)} ${state}`);
  }
  async function take(at: string): Promise<string> {
    const taken = await takeAudit(postgres, new Date(at));
    if (taken === null) throw new Error("no audit waits");
    return taken.id;
  }

  it("should be asked for again an hour later when it failed, until it has ended", async () => {
    await ask("2001-03-02T03:30:00Z");
    const first = await take("2001-03-02T03:30:02Z");
    await ask("2001-03-02T04:30:00Z");
    expect(await states(), "while it goes on").to.deep.equal(["03-02T03:30 running"]);
    await failAudit(postgres, first, "the store was away", new Date("2001-03-02T05:00:00Z"));
    await ask("2001-03-02T05:30:00Z");
    expect(await states()).to.deep.equal(["03-02T05:30 waiting", "03-02T03:30 failed"]);
    await endAudit(postgres, await take("2001-03-02T05:30:02Z"), [], new Date("2001-03-02T06:00Z"));
    await ask("2001-03-02T06:30:00Z");
    expect(await states()).to.deep.equal(["03-02T05:30 clean", "03-02T03:30 failed"]);
    await ask("2001-03-03T03:30:00Z");
    expect((await states())[0], "the next night").to.equal("03-03T03:30 waiting");
  });

  it("should be one, however many processes ask", async () => {
    await Promise.all([1, 2, 3].map(() => ask("2001-03-02T03:30:00Z")));
    expect(await states()).to.deep.equal(["03-02T03:30 waiting"]);
  });

  it("should be overdue when none has ended for too long", async () => {
    const overdueAt = (ms: number) => isAuditOverdue(postgres, new Date(ms));
    const due = madeAt.getTime() + limits.auditOverdueMs;
    expect(await overdueAt(due), "a new installation").to.equal(false);
    expect(await overdueAt(due + 1), "never audited").to.equal(true);
    await ask("2001-03-02T03:30:00Z");
    const endedAt = new Date("2001-03-02T03:31:00Z");
    await endAudit(postgres, await take("2001-03-02T03:30:02Z"), [], endedAt);
    expect(await overdueAt(due + 1), "audited by now").to.equal(false);
    expect(await overdueAt(endedAt.getTime() + limits.auditOverdueMs + 1)).to.equal(true);
  });
});
