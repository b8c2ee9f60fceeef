/**
 * Rows that bring an `event_id` an earlier row of the file brought. The service takes one event of
 * them and refuses the rest if they say something else: a check that did not know would promise a
 * sum that is never booked.
 */
import { createHash } from "node:crypto";
import type { RightRow } from "./check.js";
import { ImportRefused } from "./refused.js";

/** Events named by an `event_id` in one file: each is remembered, to report repeats. */
const importRowsWithIdMax = 2_000_000;

/** The first row of an event. */
interface First {
  /** Of the file. */
  readonly line: number;
  readonly contentHash: string;
}

/** 120 bits, as of event ids that are made. */
const hashBytes = 15;

export class Repeats {
  /** Rows that say again what an earlier one said. */
  count = 0;
  readonly #firsts = new Map<string, First>();

  /**
   * @param line of the file
   * @returns what the row is among those before it; the line is that of the event's first row
   * @throws ImportRefused when there are too many to remember
   */
  place(
    { record, content }: Pick<RightRow, "record" | "content">,
    line: number,
  ): { readonly kind: "first" | "repeat" } | { readonly kind: "conflict"; readonly line: number } {
    // As receipts know an event: two providers may give one id to different events.
    const event = hashOf(JSON.stringify([record.provider, record.event_id]));
    const contentHash = hashOf(content);
    const first = this.#firsts.get(event);
    if (first === undefined) {
      if (this.#firsts.size === importRowsWithIdMax) {
        throw new ImportRefused(
          `More than ${importRowsWithIdMax} rows have an event_id: split the file.`,
        );
      }
      this.#firsts.set(event, { line, contentHash });
      return { kind: "first" };
    }
    if (first.contentHash !== contentHash) return { kind: "conflict", line: first.line };
    this.count += 1;
    return { kind: "repeat" };
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest().toString("latin1", 0, hashBytes);
}
