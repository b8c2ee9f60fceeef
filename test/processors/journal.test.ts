/** The journal: what became of each raw event, written behind normalizing. */
import { expect } from "chai";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import { keepJournal } from "../../processors/normalize/normalize.js";
import { topics } from "../../schemas/records/records.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { enrichingOver } from "../harness/enriching.js";
import { metaOf } from "../harness/facts.js";
import { RecentOutcomes } from "../../processors/normalize/outcome.js";

describe("The journal", () => {
  const endpoints = suiteEndpoints();

  it("should say what an event came to, though its row was not written at first", async () => {
    const { service, workspace } = endpoints;
    const recent = new RecentOutcomes();
    const journalOn = (clickhouse: ClickHouse) => enrichingOver(service, { clickhouse, recent });
    // Read again it would be no raw event.
    const value = Buffer.from("none");
    const record: LogRecord = { topic: topics.raw, partition: 9, offset: 9n, key: "", value };
    const event = metaOf({ workspace, event_id: "evt_journal" });
    recent.keep([{ kind: "ignored", record, event, reason: "mirrored", customers: [] }]);
    const full: ClickHouse = {
      ...service.clickhouse,
      write: () => Promise.reject(new Error("no space left on the disk")),
    };
    const [failed] = await Promise.allSettled([keepJournal(await journalOn(full), [record])]);
    expect(failed.status).to.equal("rejected");
    await keepJournal(await journalOn(service.clickhouse), [record]);
    const rows = await service.clickhouse.rows(
      `SELECT outcome, reason FROM raw_events
       WHERE workspace = {workspace:String} AND event_id = 'evt_journal'`,
      { workspace },
    );
    expect(rows).to.deep.equal([{ outcome: "ignored", reason: "mirrored" }]);
    expect(recent.get(record), "it is written").to.equal(undefined);
  });

  it("should wait for what is being normalized, rather than read it as well", async () => {
    const { service, workspace } = endpoints;
    const recent = new RecentOutcomes();
    // Read by the journal itself it would be no raw event.
    const value = Buffer.from("none");
    const record: LogRecord = { topic: topics.raw, partition: 0, offset: 9n, key: "", value };
    const event = metaOf({ workspace, event_id: "evt_awaited" });
    let looks = 0;
    const log: Log = {
      ...service.log,
      handled() {
        looks += 1;
        const isHandled = looks === 3;
        if (isHandled)
          recent.keep([{ kind: "ignored", record, event, reason: "mirrored", customers: [] }]);
        return Promise.resolve([isHandled ? 10n : 9n]);
      },
    };
    await keepJournal(await enrichingOver(service, { log, recent }), [record]);
    expect(looks).to.equal(3);
    const rows = await service.clickhouse.rows(
      `SELECT outcome FROM raw_events
       WHERE workspace = {workspace:String} AND event_id = 'evt_awaited'`,
      { workspace },
    );
    expect(rows).to.deep.equal([{ outcome: "ignored" }]);
  });
});
