/** A batch of the facts topic as facts, each once. */
import { type Fact, factRecords } from "../../schemas/records/records.js";
import type { LogRecord } from "../../log/log.js";
import { type Matter, matterOf } from "../normalize/facts.js";
import { mapInTurns } from "../yield-to-event-loop.js";

/**
 * Those about one matter, in log order; a fact published under two keys, or twice, is included
 * once: as first reported. The key says which are wanted, so the others need no decoding.
 */
export async function readFacts(records: readonly LogRecord[], about: Matter): Promise<Fact[]> {
  const wanted = records.filter(({ key }) => matterOf(key) === about);
  const facts = new Map<string, Fact>();
  for (const fact of await mapInTurns(wanted, ({ value }) => factRecords.decode(value))) {
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}
