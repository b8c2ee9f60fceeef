const compiledFromUses = "100";

/** Of every statement, on both origins. */
export const statementSettings = {
  /** Rows come inside the statement; above `statementLengthMax` with its escapes and UTF-8. */
  max_query_size: String(256 * 1024 * 1024),
  /** All digits of 64-bit integers and decimals, which JSON numbers would lose. */
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  date_time_output_format: "simple",
  /** ISO 8601 as `Date.toJSON` writes it. */
  date_time_input_format: "best_effort",
  /** An answered insert must be there; asynchronous inserts are the default since 26. */
  async_insert: 0,
  /**
   * Otherwise an insert without a token would be ignored when its rows equal those of an earlier
   * one; `append` turns it on again. `insert_deduplicate = 0` alone does not turn it off.
   */
  deduplicate_insert: "disable",
  deduplicate_insert_select: "disable",
  /** One block, so that an insert is there whole or not at all. */
  max_insert_threads: "1",
  /**
   * Reading ahead costs a buffer for each stretch of each column: looking up 1,000 accounts among 6
   * million rows took 2.2 s and 250 MB with it, 0.4 s and 100 MB without.
   */
  local_filesystem_read_method: "pread",
  // What small statements cannot afford: threads to parse a few rows, statistics of tiny parts,
  // profiles. An insert of 30 rows takes 15 ms of processor time with the defaults and 5 ms
  // without.
  input_format_parallel_parsing: 0,
  optimize_on_insert: 0,
  materialize_statistics_on_insert: 0,
  log_profile_events: 0,
  query_profiler_real_time_period_ns: "0",
  query_profiler_cpu_time_period_ns: "0",
  /**
   * Expressions are compiled once many statements have them. The default (the third) took a tenth
   * of the time of 247 tests; without compiling, the products of a lifetime took 73 ms, not 51.
   */
  min_count_to_compile_expression: compiledFromUses,
  min_count_to_compile_aggregate_expression: compiledFromUses,
  min_count_to_compile_sort_description: compiledFromUses,
} as const;

/** An answered insert must survive the end of the machine. */
export const durableSettings = ", fsync_after_insert = 1, fsync_part_directory = 1";

/** Bytes of memory one statement may take, so that others have some, too. */
export function memoryOfStatement(memoryBytes: number): number {
  return Math.floor(memoryBytes * 0.6);
}
