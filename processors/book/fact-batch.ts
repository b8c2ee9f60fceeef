import { type Fact, factRecords } from "../../schemas/records/records.js";
import type { LogRecord } from "../../stores/log/log.js";
import type { SkuName } from "../../workspaces/catalogue/skus.js";
import { mapInTurns } from "../../runtime/in-turns.js";

/** In log order. A fact that was published twice is included once, as first reported. */
export async function readFacts(records: readonly LogRecord[]): Promise<Fact[]> {
  const facts = new Map<string, Fact>();
  for (const fact of await mapInTurns(records, ({ value }) => factRecords.decode(value))) {
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}

export function skusOf(
  { workspace, environment, provider }: Omit<SkuName, "externalId">,
  sold: readonly { readonly external_id: string }[],
): SkuName[] {
  return [...new Set(sold.map(({ external_id }) => external_id))]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
}
