/** What the public topics have to hold when all is booked, whatever failed on the way. */
import { AssertionError } from "chai";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import type { Service } from "../../service.js";
import { mrrOf, plainMrr } from "../../schemas/money/monthly.js";
import {
  movementCodec,
  type MovementRecord,
  topics,
  transactionCodec,
  type TransactionRecord,
  type Topic,
} from "../../schemas/records/records.js";

const recordsPerRead = 1_000;

/** Where each topic ended before; by partition. */
export type Places = ReadonlyMap<Topic, readonly bigint[]>;

type Reading = Pick<Log, "ends" | "read">;

export async function placesOf(log: Reading): Promise<Places> {
  const ends = new Map<Topic, readonly bigint[]>();
  for (const topic of [topics.movements, topics.transactions]) {
    ends.set(topic, await log.ends(topic));
  }
  return ends;
}

type Row = Readonly<Record<string, unknown>>;

/** What the public topics got. */
export interface Messages {
  readonly movements: readonly MovementRecord[];
  readonly transactions: readonly (TransactionRecord & { readonly place: string })[];
}

export async function messagesSince(log: Reading, since: Places): Promise<Messages> {
  const movements = await recordsSince(log, topics.movements, since);
  const transactions = await recordsSince(log, topics.transactions, since);
  return {
    movements: movements.map(({ value }) => movementCodec.decode(value)),
    transactions: transactions.map(({ value, partition, offset }) => {
      return { ...transactionCodec.decode(value), place: `${partition}:${offset}` };
    }),
  };
}

/**
 * @throws AssertionError naming the first that is missing, made up or reported in two ways
 */
export async function expectPublished(
  { clickhouse }: Service,
  log: Log,
  since: Places,
  workspace: string,
): Promise<void> {
  const { movements, transactions } = await messagesSince(log, since);
  const recorded = await clickhouse.rows<Row>(
    `SELECT account, event_id, external_id, kind, mrr, at FROM mrr_movements
     WHERE workspace = {workspace:String} AND mrr != 0`,
    { workspace },
  );
  const newest = await clickhouse.rows<Row>(
    `SELECT id, version, status FROM transactions WHERE workspace = {workspace:String}
     ORDER BY id, recorded_at DESC, fact_id DESC, version DESC LIMIT 1 BY id`,
    { workspace },
  );
  // Whoever takes a partition publishes again what may not have been, also that of earlier cases.
  const isOwn = (message: { readonly workspace: string }): boolean =>
    message.workspace === workspace;
  const own = {
    movements: movements.filter(isOwn),
    transactions: transactions.filter(isOwn),
  };
  expectMessages(own, recorded, newest);
}

/**
 * Every movement recorded is reported and every movement reported is recorded; of every transaction
 * the version that counts is reported, and what comes first says so. Messages with one id are one
 * movement.
 * @param recorded movements that changed MRR, as ClickHouse writes them
 * @param newest the version of each transaction that counts
 */
export function expectMessages(
  { movements, transactions }: Messages,
  recorded: readonly Row[],
  newest: readonly Row[],
): void {
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
  const rows = new Set(
    recorded.map(({ account, event_id, external_id, kind, mrr, at }) => {
      const time = fromClickhouseTime(String(at));
      return JSON.stringify([
        account,
        event_id,
        external_id,
        kind,
        plainMrr(mrrOf(String(mrr))),
        time,
      ]);
    }),
  );
  for (const row of rows) if (!reported.has(row)) fail(`recorded and not reported: ${row}`);
  for (const row of reported) if (!rows.has(row)) fail(`reported and not recorded: ${row}`);

  const versions = new Set(
    transactions.map(({ id, version, status }) => `${id} ${version} ${status}`),
  );
  const seen = new Set<string>();
  for (const { id, version, status, first } of transactions) {
    if (!seen.has(id) && !first) fail(`no first before version ${version}, ${status}, of ${id}`);
    seen.add(id);
  }
  for (const { id, version, status } of newest) {
    if (versions.has(`${String(id)} ${String(version)} ${String(status)}`)) continue;
    const others = transactions.filter((message) => message.id === id);
    const known = others.map((message) => [message.version, message.status, message.place]);
    const missing = `version ${String(version)}, ${String(status)}, of ${String(id)}`;
    fail(`not reported: ${missing}: ${JSON.stringify(known)}`);
  }
}

async function recordsSince(log: Reading, topic: Topic, since: Places): Promise<LogRecord[]> {
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
