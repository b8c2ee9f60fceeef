/** What the public topics have to hold when all is booked, whatever failed on the way. */
import { AssertionError } from "chai";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import type { Service } from "../../service.js";
import {
  movementCodec,
  topics,
  transactionCodec,
  type Topic,
} from "../../schemas/records/records.js";

const recordsPerRead = 1_000;

/** Where each topic ended before; by partition. */
export type Places = ReadonlyMap<Topic, readonly bigint[]>;

export async function placesOf(log: Log): Promise<Places> {
  const ends = new Map<Topic, readonly bigint[]>();
  for (const topic of [topics.movements, topics.transactions]) {
    ends.set(topic, await log.ends(topic));
  }
  return ends;
}

/**
 * Every movement recorded is reported and every movement reported is recorded; of every transaction
 * the version that counts is reported. Messages with one id are one movement.
 *
 * @throws AssertionError naming the first that is missing, made up or reported in two ways
 */
export async function expectPublished(
  { clickhouse }: Service,
  log: Log,
  since: Places,
  workspace: string,
): Promise<void> {
  const movements = (await recordsSince(log, topics.movements, since))
    .map(({ value }) => movementCodec.decode(value))
    .filter((movement) => movement.workspace === workspace);
  const contents = new Map<string, string>();
  for (const movement of movements) {
    const content = JSON.stringify(movement);
    if ((contents.get(movement.id) ?? content) !== content)
      fail(`${movement.id} reported in two ways`);
    contents.set(movement.id, content);
  }
  const reported = new Set(
    movements.map(({ account, event_id, external_id, kind, mrr, at }) =>
      JSON.stringify([account, event_id, external_id, kind, mrr, at]),
    ),
  );
  const rows = await clickhouse.rows<Record<string, string>>(
    `SELECT account, event_id, external_id, kind, mrr, at FROM mrr_movements
     WHERE workspace = {workspace:String} AND mrr != 0`,
    { workspace },
  );
  const recorded = new Set(
    rows.map(({ account, event_id, external_id, kind, mrr, at = "" }) =>
      JSON.stringify([account, event_id, external_id, kind, mrr, fromClickhouseTime(at)]),
    ),
  );
  for (const row of recorded) if (!reported.has(row)) fail(`recorded and not reported: ${row}`);
  for (const row of reported) if (!recorded.has(row)) fail(`reported and not recorded: ${row}`);

  const messages = (await recordsSince(log, topics.transactions, since)).map((record) => {
    const { id, version, status, first, event_id: event } = transactionCodec.decode(record.value);
    const place = `${record.partition}:${record.offset}`;
    return { id, version, status, first, event, place };
  });
  const versions = new Set(messages.map(({ id, version, status }) => `${id} ${version} ${status}`));
  const newest = await clickhouse.rows<{ id: string; version: number; status: string }>(
    `SELECT id, version, status FROM transactions WHERE workspace = {workspace:String}
     ORDER BY id, recorded_at DESC, fact_id DESC, version DESC LIMIT 1 BY id`,
    { workspace },
  );
  for (const { id, version, status } of newest) {
    if (versions.has(`${id} ${version} ${status}`)) continue;
    const known = {
      messages: messages.filter((message) => message.id === id),
      rows: await clickhouse.rows(
        `SELECT version, status, fact_id, recorded_at, booked_at FROM transactions
         WHERE workspace = {workspace:String} AND id = {id:String} ORDER BY booked_at`,
        { workspace, id },
      ),
      ends: (await log.ends(topics.transactions)).map(String),
    };
    fail(`not reported: version ${version}, ${status}, of ${id}: ${JSON.stringify(known)}`);
  }
}

async function recordsSince(log: Log, topic: Topic, since: Places): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for (const [partition, from] of (since.get(topic) ?? []).entries()) {
    for (let next = from; ;) {
      const read = await log.read(topic, partition, next, recordsPerRead);
      const last = read.at(-1);
      if (last === undefined) break;
      records.push(...read);
      next = last.offset + 1n;
    }
  }
  return records;
}

function fail(what: string): never {
  throw new AssertionError(`public topics: ${what}`);
}
