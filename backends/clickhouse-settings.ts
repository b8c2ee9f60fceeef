/** Settings every statement runs under, on both origins. */
export const statementSettings = {
  /** Rows come inside the statement; above `statementLengthMax` with its escapes and UTF-8. */
  max_query_size: String(256 * 1024 * 1024),
  /** All digits of 64-bit integers and decimals: as JSON numbers they would lose some. */
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  date_time_output_format: "simple",
  /** ISO 8601 as `Date.toJSON` writes it. */
  date_time_input_format: "best_effort",
} as const;
