/** A batch of the facts topic as facts, each once. */
import type { LogRecord } from "../backends/log.js";
import { type Fact, factCodec } from "../schemas/records.js";

/** In log order; a fact handed on under two keys, or twice, is there once: as first told. */
export function readFacts(records: readonly LogRecord[]): Fact[] {
  const facts = new Map<string, Fact>();
  for (const record of records) {
    const fact = factCodec.decode(record.value);
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}

export function isMoney({ body }: Fact): boolean {
  return !("Subscription" in body || "Anonymous" in body || "Sku" in body);
}
