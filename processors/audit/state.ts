/**
 * Compares the tables with the state: facts about money, subscription changes and sides of churns,
 * from which all other figures follow. Sums of hashes are compared first, and single rows only
 * where the sums differ, so that a check reads each table once.
 */
import { setTimeout as pause } from "node:timers/promises";
import { crc32 } from "node:zlib";
import {
  fromClickhouseTime,
  clickhouseTime,
  matching,
  rowsIn,
} from "../../stores/clickhouse/rows.js";
import { jsonRows } from "../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import { limits } from "../../config.js";
import { chunksBySize, grouped } from "../../runtime/lists.js";
import type { AuditExample } from "../../schemas/audit.js";
import { type Fact, topics, type Tenant } from "../../schemas/records/records.js";
import type { State } from "../../stores/state/state.js";
import type { Watermark } from "../../stores/watermark/watermark.js";
import { insertFacts } from "../book/money/money-tables.js";
import { accounts, moneyFacts, pools, itemsOfPart, keyOf, listOf } from "../book/lists.js";
import type { Change } from "../../schemas/subscriptions/change.js";
import { insertChanges } from "../book/subscriptions/changes.js";
import type { Side } from "../book/subscriptions/pairing.js";
import { insertSides, nameOfPool } from "../book/subscriptions/pools.js";
import { nameOf, subjects } from "../normalize/facts.js";

export interface StateService {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "ends">;
  readonly state: Pick<State, "values">;
  readonly watermark: Pick<Watermark, "completeTo">;
}

export interface StateOptions {
  /** Null: every workspace. */
  readonly workspace: string | null;
  readonly repair: boolean;
}

/** What was found in one table, for one workspace and environment. */
export interface HeldFinding extends Tenant {
  readonly table: HeldTable;
  rows: number;
  differences: number;
  readonly examples: AuditExample[];
}

/**
 * The tables whose rows the state holds: the columns that name a row, how many of them begin the
 * primary key, and when it was received.
 */
const heldTables = {
  money_facts: {
    identity: ["workspace", "environment", "provider", "key", "fact_id"],
    leading: 4,
    receipt: "received_at",
  },
  subscription_changes: {
    identity: ["workspace", "environment", "account", "change_id", "revision"],
    leading: 3,
    receipt: "recorded_at",
  },
  unidentified_sides: {
    identity: ["workspace", "environment", "pool", "fact_id"],
    leading: 3,
    receipt: "recorded_at",
  },
} as const;
type HeldTable = keyof typeof heldTables;

interface Held extends Tenant {
  readonly table: HeldTable;
  readonly provider: string;
  /** The values of the identity's columns, in their order. */
  readonly identity: readonly string[];
  /** As ClickHouse writes times. */
  readonly receivedAt: string;
  readonly subject: string;
  readonly source: { readonly fact: Fact } | { readonly change: Change } | { readonly side: Side };
}

const groupsCount = 2 ** 16;
/** Rows that one statement looks for or inserts. */
const rowsAtOnce = 1_000;
const valuesAtOnce = 500;
/** How long rows that were booked a moment ago may take to be written. */
const settleMsMax = 60_000;
const settleEveryMs = 250;

/**
 * @param rest called between steps. @returns a finding for each workspace, environment and table of
 *   which the state holds rows
 */
export async function compareWithState(
  service: StateService,
  options: StateOptions,
  rest: () => Promise<void>,
): Promise<HeldFinding[]> {
  // While nothing books, all there is is written.
  const knownTo = clickhouseTime(
    options.repair ? Date.now() : await service.watermark.completeTo(),
  );
  const findings = new Map<string, HeldFinding>();
  const sums = new Sums();
  for await (const some of heldRows(service, options, knownTo, rest)) {
    for (const held of some) {
      sums.add(held);
      findingIn(findings, held).rows += 1;
    }
  }
  const different = await sums.differences(service.clickhouse, knownTo);
  if (different.size === 0) return [...findings.values()];

  for await (const some of heldRows(service, options, knownTo, rest)) {
    const doubtful = some.filter((held) => different.has(groupOf(held)));
    for (const missing of await missingRows(service, options, doubtful)) {
      const finding = findingIn(findings, missing);
      finding.differences += 1;
      if (finding.examples.length < limits.auditExamplesMax)
        finding.examples.push(exampleOf(missing));
    }
  }
  return [...findings.values()];
}

function findingIn(findings: Map<string, HeldFinding>, held: Held): HeldFinding {
  const { workspace, environment, table } = held;
  const name = `${workspace} ${environment} ${table}`;
  const known = findings.get(name);
  if (known !== undefined) return known;
  const finding = { workspace, environment, table, rows: 0, differences: 0, examples: [] };
  findings.set(name, finding);
  return finding;
}

function exampleOf({ subject, receivedAt }: Held): AuditExample {
  const at = new Date(fromClickhouseTime(receivedAt)).toISOString();
  return { subject, at, what: "missing; the state has it", amount: null };
}

async function* heldRows(
  { log, state }: StateService,
  { workspace }: StateOptions,
  knownTo: string,
  rest: () => Promise<void>,
): AsyncGenerator<Held[]> {
  const partitions = (await log.ends(topics.facts)).length;
  for (let partition = 0; partition < partitions; partition += 1) {
    let [held, values]: [Held[], number] = [[], 0];
    for await (const [key, value] of state.values(partition)) {
      for (const row of rowsOf(key, value)) {
        if (row.receivedAt > knownTo || (workspace ?? row.workspace) !== row.workspace) continue;
        held.push(row);
      }
      values += 1;
      if (held.length < rowsAtOnce && values % valuesAtOnce !== 0) continue;
      yield held;
      held = [];
      await rest();
    }
    yield held;
  }
}

function* rowsOf(key: string, value: Buffer): Generator<Held> {
  const list = listOf(key);
  if (list.startsWith(moneyFacts.letter)) {
    for (const fact of itemsOfPart(moneyFacts, value)) yield* heldFact(list, fact);
  } else if (list.startsWith(accounts.letter)) {
    for (const item of itemsOfPart(accounts, value)) {
      if ("change" in item) yield heldChange(item.change);
    }
  } else if (list.startsWith(pools.letter)) {
    for (const item of itemsOfPart(pools, value)) if ("side" in item) yield heldSide(item.side);
  }
}

/** A fact lies under each of its keys, but only the row of this list is compared. */
function* heldFact(list: string, fact: Fact): Generator<Held> {
  const { workspace, environment, provider } = fact;
  const receivedAt = clickhouseTime(fact.received_at);
  for (const key of subjects(fact.body)) {
    if (keyOf(moneyFacts, nameOf(fact, key)) !== list) continue;
    const identity = [workspace, environment, provider, key, fact.fact_id];
    const scope = { workspace, environment, provider, receivedAt, subject: `${provider} ${key}` };
    yield { table: "money_facts", ...scope, identity, source: { fact } };
  }
}

function heldChange(change: Change): Held {
  const { workspace, environment, provider, account, change_id: id, revision } = change;
  const identity = [workspace, environment, account, id, String(revision)];
  const scope = { workspace, environment, provider, receivedAt: change.recorded_at };
  return {
    table: "subscription_changes",
    ...scope,
    subject: account,
    identity,
    source: { change },
  };
}

function heldSide(side: Side): Held {
  const { workspace, environment, provider, pool, fact_id: id } = side;
  const scope = { workspace, environment, provider, receivedAt: side.recorded_at };
  const identity = [workspace, environment, pool, id];
  return { table: "unidentified_sides", ...scope, subject: pool, identity, source: { side } };
}

const separator = "\n";

function hashOf({ identity }: Held): number {
  return crc32(identity.join(separator));
}

function groupOf(held: Held): string {
  return `${held.table} ${hashOf(held) % groupsCount}`;
}

/** How many rows there are in each group of a table, and the sum of their hashes. */
class Sums {
  readonly #tables = new Map<HeldTable, { rows: Float64Array; hashes: Float64Array }>();
  readonly #books = new Map<string, Pick<Held, "workspace" | "environment" | "provider">>();

  add(held: Held): void {
    const { table, workspace, environment, provider } = held;
    const hash = hashOf(held);
    const { rows, hashes } = this.#of(table);
    const group = hash % groupsCount;
    rows[group] = (rows[group] ?? 0) + 1;
    hashes[group] = (hashes[group] ?? 0) + hash;
    this.#books.set(`${workspace} ${environment} ${provider}`, {
      workspace,
      environment,
      provider,
    });
  }

  #of(table: HeldTable) {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const sums = { rows: new Float64Array(groupsCount), hashes: new Float64Array(groupsCount) };
    this.#tables.set(table, sums);
    return sums;
  }

  /**
   * The groups that differ in the tables. Only books that the state knows are looked at: another,
   * of a backup, may be in the tables alone until its next event.
   */
  async differences(clickhouse: Pick<ClickHouse, "rows">, knownTo: string): Promise<Set<string>> {
    const different = new Set<string>();
    const inBooks = matching([...this.#books.values()], "workspace", "environment", "provider");
    for (const [table, { rows, hashes }] of this.#tables) {
      const { identity, receipt } = heldTables[table];
      const names = identity.map((name) => `toString(${name})`).join(", ");
      const found = await clickhouse.rows<{ part: number; rows: string; hashes: string }>(
        `SELECT hash % ${groupsCount} AS part, count() AS rows, sum(hash) AS hashes
         FROM (
           SELECT CRC32(arrayStringConcat([${names}], '\\n')) AS hash
           FROM ${table} WHERE ${inBooks} AND ${receipt} <= '${knownTo}'
         ) GROUP BY part`,
      );
      const stored = new Map(found.map((one) => [one.part, one]));
      for (let group = 0; group < groupsCount; group += 1) {
        const there = stored.get(group);
        const isEqual =
          Number(there?.rows ?? 0) === rows[group] && Number(there?.hashes ?? 0) === hashes[group];
        if (!isEqual) different.add(`${table} ${group}`);
      }
    }
    return different;
  }
}

/** @returns those that no table has. A repair inserts them. */
async function missingRows(
  { clickhouse, watermark }: StateService,
  { repair }: StateOptions,
  doubtful: readonly Held[],
): Promise<Held[]> {
  const missing = await notStored(clickhouse, doubtful);
  if (missing.length === 0) return missing;
  if (repair) {
    await insertHeld(clickhouse, missing);
    return missing;
  }
  // A row that was booked a moment ago may not be written yet.
  return (await isWritten(watermark)) ? notStored(clickhouse, missing) : [];
}

/** Waits until everything that is booked by now is in the tables. False: it takes too long. */
async function isWritten(watermark: Pick<Watermark, "completeTo">): Promise<boolean> {
  const now = Date.now();
  while ((await watermark.completeTo()) < now) {
    if (Date.now() - now > settleMsMax) return false;
    await pause(settleEveryMs);
  }
  return true;
}

async function notStored(
  clickhouse: Pick<ClickHouse, "rows">,
  rows: readonly Held[],
): Promise<Held[]> {
  const missing: Held[] = [];
  for (const [table, ofTable] of grouped(rows, (held) => held.table)) {
    for (const some of chunksBySize(ofTable, rowsAtOnce, () => 1)) {
      missing.push(...(await notStoredIn(clickhouse, table, some)));
    }
  }
  return missing;
}

async function notStoredIn(
  clickhouse: Pick<ClickHouse, "rows">,
  table: HeldTable,
  rows: readonly Held[],
): Promise<Held[]> {
  const { identity: columns, leading } = heldTables[table];
  const names = columns.join(", ");
  const numbered = rows.map(({ identity }, number) => ({
    number,
    ...Object.fromEntries(columns.map((column, index) => [column, identity[index]])),
  }));
  const structure = columns.map((name) => `${name} ${name === "revision" ? "UInt32" : "String"}`);
  const scope = `(${columns.slice(0, leading).join(", ")})`;
  const inScope = rowsIn(
    scope,
    rows.map(({ identity }) => identity.slice(0, leading)),
  );
  const found = await clickhouse.rows<{ number: number }>(
    `SELECT number FROM ${jsonRows(`number UInt32, ${structure.join(", ")}`, numbered)}
     WHERE (${names}) NOT IN (SELECT ${names} FROM ${table} WHERE ${inScope})`,
  );
  return found.flatMap(({ number }) => rows[number] ?? []);
}

async function insertHeld(clickhouse: ClickHouse, missing: readonly Held[]): Promise<void> {
  const sources = missing.map(({ source }) => source);
  await insertFacts(
    clickhouse,
    sources.flatMap((one) => ("fact" in one ? one.fact : [])),
  );
  await insertChanges(
    clickhouse,
    sources.flatMap((one) => ("change" in one ? one.change : [])),
  );
  const sides = sources.flatMap((one) => ("side" in one ? one.side : []));
  for (const some of grouped(sides, nameOfPool).values()) await insertSides(clickhouse, some);
}
