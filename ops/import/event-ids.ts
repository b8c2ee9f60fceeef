/**
 * Event ids for rows that bring none: made from what the row says and from how many equal rows came
 * before it. The same file makes the same ids in any order of rows and columns: sent again, after a
 * line was mended too, nothing counts twice; and what stands in it twice counts twice
 * (docs/decisions/http-interface.md).
 */
import { createHash } from "node:crypto";
import { ImportRefused } from "./refused.js";

/** Rows without an `event_id` in one file: each is remembered, to report equal ones apart. */
const importRowsWithoutIdMax = 2_000_000;

const prefix = "import:";
/** 120 bits: among millions of rows no two differ and share one. */
const hashLength = 20;

export class EventIds {
  /** Rows equal to an earlier one. */
  repeated = 0;
  readonly #counts = new Map<string, number>();

  /** @throws ImportRefused when there are too many to remember */
  idOf(cells: ReadonlyMap<string, string>): string {
    const sorted = [...cells].sort(([one], [other]) => (one < other ? -1 : 1));
    const digest = createHash("sha256").update(JSON.stringify(sorted)).digest("base64url");
    const hash = digest.slice(0, hashLength);
    const count = (this.#counts.get(hash) ?? 0) + 1;
    if (count > 1) this.repeated += 1;
    this.#counts.set(hash, count);
    if (this.#counts.size > importRowsWithoutIdMax) {
      throw new ImportRefused(
        `More than ${importRowsWithoutIdMax} rows have no event_id: give them one, or ` +
          "split the file.",
      );
    }
    return count === 1 ? `${prefix}${hash}` : `${prefix}${hash}:${count}`;
  }
}
