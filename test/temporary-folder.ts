/**
 * Loaded before the tests (.mocharc.json): data folders lie in memory where there is room, since
 * most of what a test waits for is files made and synced. `TMPDIR` says otherwise.
 */
import { accessSync, constants, statfsSync } from "node:fs";

const memory = "/dev/shm";
/** A container often has 64 MiB there; a service of ours wants some hundreds. */
const bytesMin = 4 * 1024 ** 3;

if (process.env["TMPDIR"] === undefined && hasRoom()) process.env["TMPDIR"] = memory;

function hasRoom(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= bytesMin;
  } catch {
    return false;
  }
}
