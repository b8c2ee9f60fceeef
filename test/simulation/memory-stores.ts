/** The log and the tables of ClickHouse in memory, as far as booking uses them. */
import type { ClickHouse, RowsBatch } from "../../stores/clickhouse/clickhouse.js";
import { columnNames } from "../../stores/clickhouse/sql-text.js";
import type { Log, LogRecord, NewRecord } from "../../stores/log/log.js";
import { spread } from "../../stores/log/lmdb/lmdb-log.js";
import type { BookedTable } from "../../processors/book/booked.js";
import type { Topic } from "../../schemas/records/records.js";

const partitionsOfEach = 3;

export type MemoryLog = ReturnType<typeof memoryLog>;

/** @param shared by several processes */
export function memoryLog(shared: boolean) {
  const topics = new Map<Topic, LogRecord[][]>();

  function partitionsOf(topic: Topic): LogRecord[][] {
    const known = topics.get(topic);
    if (known !== undefined) return known;
    const made = Array.from({ length: partitionsOfEach }, (): LogRecord[] => []);
    topics.set(topic, made);
    return made;
  }

  const partitionOf: Log["partitionOf"] = (_topic, key) => spread(key, partitionsOfEach);
  return {
    shared,
    partitionOf,
    append: async (topic: Topic, records: readonly NewRecord[]) =>
      records.map(({ key, value }) => {
        const partition = partitionOf(topic, key);
        const log = partitionsOf(topic)[partition] ?? [];
        const offset = BigInt(log.length);
        log.push({ topic, partition, offset, key, value });
        return { partition, offset };
      }),
    ends: async (topic: Topic) => partitionsOf(topic).map(({ length }) => BigInt(length)),
    read: async (topic: Topic, partition: number, offset: bigint, most: number) =>
      partitionsOf(topic)[partition]?.slice(Number(offset), Number(offset) + most) ?? [],
  } satisfies Partial<Log>;
}

/** By the names of its columns. */
export type Row = Readonly<Record<string, string>>;

export type MemoryTables = ReturnType<typeof memoryTables>;

/**
 * A batch is appended once, however often it is sent. Statements find nothing and change nothing:
 * no row is ever lost here, so there is nothing to read books from and nothing to repair.
 */
export function memoryTables() {
  const batches = new Map<string, RowsBatch>();
  const clickhouse: ClickHouse = Object.assign(Object.create(null), {
    isShared: false,
    append: async (batch: RowsBatch) => {
      const name = `${batch.table} ${batch.token}`;
      if (!batches.has(name)) batches.set(name, batch);
    },
    rows: async () => [],
    write: async () => {},
  });
  return {
    clickhouse,
    all: (table: BookedTable): Row[] =>
      [...batches.values()].filter((batch) => batch.table === table).flatMap(rowsOf),
  };
}

function rowsOf({ structure, rows }: RowsBatch): Row[] {
  const columns = columnNames(structure);
  const lines = rows.trimEnd().split("\n");
  return lines.map((line) => {
    const values = line.split("\t");
    return Object.fromEntries(columns.map((name, index) => [name, values[index] ?? ""]));
  });
}
