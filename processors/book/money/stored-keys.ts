/**
 * Which keys of `money_facts` may have rows, kept in memory by the sole writer of that table: a
 * payment met for the first time, as most are, then needs no look. Read from the table in the
 * background after a start; until that is done, every key may have rows.
 */
import assert from "node:assert";
import { literal } from "../../../clickhouse/sql-text.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { nameOf } from "../../normalize/facts.js";
import { KeyFilter } from "./key-filter.js";

/** Rows of one page: read in a few ms, so that nothing waits for it. */
const pageRows = 2_000;

export class StoredKeys {
  /** Null until the table is read. */
  #filter: KeyFilter | null = null;
  /** Being made; gets what is added meanwhile. */
  #next: KeyFilter | null = null;
  /** From before `#next` is there: of two readings at once the first would end the second's. */
  #isBeingRead = false;

  mayHave(name: string): boolean {
    return this.#filter?.mayHave(name) ?? true;
  }

  /** To be called before the rows are written, or with them. */
  add(name: string): void {
    this.#filter?.add(name);
    this.#next?.add(name);
  }

  /** The filter is to be made (again): none is there, or it is crowded. */
  get wanted(): boolean {
    return !this.#isBeingRead && (this.#filter?.crowded ?? true);
  }

  /**
   * Reads the keys of the table, once at a time: see `wanted`. What was added before is not lost if
   * it is written by the time `written` resolves.
   */
  async read(clickhouse: ClickHouse, written: () => Promise<void>): Promise<void> {
    assert(this.wanted, "the keys are being read");
    this.#isBeingRead = true;
    try {
      const [table] = await clickhouse.rows<{ rows: string }>(
        "SELECT count() AS rows FROM money_facts",
      );
      const filter = new KeyFilter(2 * Number(table?.rows ?? 0));
      this.#next = filter;
      await written();
      for (let last: Key | undefined, more = true; more;) {
        const page = await keysAfter(clickhouse, last);
        for (const row of page) filter.add(nameOf(row, row.key));
        last = page.at(-1);
        more = page.length === pageRows;
      }
      this.#filter = filter;
    } finally {
      this.#next = null;
      this.#isBeingRead = false;
    }
  }
}

interface Key {
  readonly workspace: string;
  readonly environment: "live" | "test";
  readonly provider: string;
  readonly key: string;
}

/** In the order of the primary key, which a comparison of tuples would not use. */
function keysAfter(clickhouse: ClickHouse, last: Key | undefined): Promise<Key[]> {
  const columns = ["workspace", "environment", "provider", "key"] as const;
  const after = columns.reduceRight((rest, column) => {
    const value = literal(last?.[column] ?? "");
    return `${column} > ${value} OR (${column} = ${value} AND (${rest}))`;
  }, "false");
  return clickhouse.rows<Key>(
    `SELECT ${columns.join(", ")} FROM money_facts
     ${last === undefined ? "" : `WHERE ${after}`}
     GROUP BY ${columns.join(", ")} ORDER BY ${columns.join(", ")} LIMIT ${pageRows}
     SETTINGS optimize_aggregation_in_order = 1, max_threads = 1`,
  );
}
