/** From a row to the line that is sent for it, checked as the ingest endpoint will check it. */
import { parseJsonText } from "../../schemas/parse.js";
import {
  type EventRecord,
  type RecordRefusal,
  readRecord,
  ingestRefusal,
} from "../../providers/record.js";
import { canonicalJson } from "../../schemas/canonical-json.js";
import type { EventIds } from "./event-ids.js";
import { requiredColumns, type Row } from "./rows.js";

export interface RightRow {
  readonly ok: true;
  readonly record: EventRecord;
  /** The line as it is sent. */
  readonly json: string;
  /** What the line means, however it is written: the service compares this. */
  readonly content: string;
}
export type Checked = RightRow | { readonly ok: false; readonly message: string };

/** Sent as the JSON numbers they are; an amount never passes through a double. */
const numberColumns: ReadonlySet<string> = new Set(["amount", "interval_count", "quantity"]);
const decimal = /^-?(0|[1-9]\d*)(\.\d+)?$/;
/** What a decoder puts where bytes are no UTF-8. */
const replacement = "\u{fffd}";

/**
 * @param ids gives a row without one its `event_id`
 * @param now ms since 1970: bounds `occurred_at`
 */
export function checkRow({ cells }: Row, ids: EventIds, now: number): Checked {
  if (cells === null) return wrong("has more or fewer cells than the first line has columns");
  for (const name of requiredColumns) {
    if (!cells.has(name)) return wrong(`${name} is required`);
  }
  for (const [name, text] of cells) {
    if (text.includes(replacement)) return wrong(`${name} is not in UTF-8`);
    if (text.includes("\0")) return wrong(`${name} has a NUL character`);
    if (numberColumns.has(name) && !decimal.test(text)) {
      return wrong(`${name} must be a plain decimal number like 1234.50`);
    }
  }
  const whole = new Map(cells).set("event_id", cells.get("event_id") ?? ids.idOf(cells));
  const json = `{${[...whole].map(jsonOf).join(",")}}`;
  // The very bytes, by the endpoint's own readers: nothing is right here and wrong there.
  const parsed = parseJsonText(json);
  if (!parsed.ok) return wrong(`${parsed.message} (${parsed.code})`);
  const reading = readRecord(parsed.value, now);
  if (!reading.ok) return refused(reading);
  const refusal = ingestRefusal(reading.record);
  if (refusal !== null) return refused(refusal);
  return { ok: true, record: reading.record, json, content: canonicalJson(parsed.value) };
}

function jsonOf([name, text]: readonly [string, string]): string {
  return `"${name}":${numberColumns.has(name) ? text : JSON.stringify(text)}`;
}

function refused({ message, code }: RecordRefusal): Checked {
  return wrong(`${message} (${code})`);
}

function wrong(message: string): Checked {
  return { ok: false, message };
}
