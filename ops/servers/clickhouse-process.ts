/**
 * The process that becomes a ClickHouse server: started by clickhouse.ts with the server's
 * arguments. It serves until its standard input ends.
 */
import { DataType, load, open } from "ffi-rs";
import { clickhouseLibrary } from "../../stores/clickhouse/library.js";

/** The last statement waits for the end of the input: while it runs, the engine serves. */
const serveUntilInputEnds =
  "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; " +
  "SELECT count() FROM file('/dev/stdin', 'LineAsString', 'line String')";

const path = clickhouseLibrary();
if (path === null) throw new Error("no ClickHouse engine for this platform");
open({ library: "chdb", path });
const words = ["clickhouse", ...process.argv.slice(2), "--query", serveUntilInputEnds];
// Does not come back while the server runs: nothing else can happen in this process.
load({
  library: "chdb",
  funcName: "chdb_query_cmdline",
  retType: DataType.I64,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [words.length, words],
});
process.exit(0);
