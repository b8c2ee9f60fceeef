/** A batch of the facts topic as facts, each once. */
import { type Fact, factRecords } from "../../schemas/records/records.js";
import type { LogRecord } from "../../log/log.js";
import { type Matter, matterOf } from "../normalize/facts.js";
import type { SkuName } from "../../catalogue/skus.js";
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

/** Those that are named, each once. */
export function skusOf(
  { workspace, environment, provider }: Omit<SkuName, "externalId">,
  sold: readonly { readonly external_id: string }[],
): SkuName[] {
  return [...new Set(sold.map(({ external_id }) => external_id))]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
}
