/** A batch of the facts topic as facts, each once. */
import type { LogRecord } from "../backends/log.js";
import { type Fact, factCodec } from "../schemas/records.js";
import { isMoneyKey } from "./facts.js";

/**
 * Those about money, or all others, in log order; a fact handed on under two keys, or twice, is
 * there once: as first told. The key tells which are wanted, so the others need no decoding.
 */
export function readFacts(records: readonly LogRecord[], about: "money" | "others"): Fact[] {
  const facts = new Map<string, Fact>();
  for (const record of records) {
    if (isMoneyKey(record.key) !== (about === "money")) continue;
    const fact = factCodec.decode(record.value);
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}
