/**
 * Objects that an event, or an answer of its provider's API, names without their content, because
 * other events reported them whole (`providers/provider.ts`, KeptObject).
 */
import { keepObjects, recallObjects } from "../../providers/api/stored-objects.js";
import type { KeptObject, Provider } from "../../providers/provider.js";
import type { RawEventMeta } from "../../schemas/records/records.js";
import type { NormalizingService } from "./normalizing-service.js";
import type { Opened } from "./outcome.js";

type KeepingService = Pick<NormalizingService, "postgres" | "keptNews">;

/** Reads them from what earlier events reported. */
export async function keptFor(
  service: KeepingService,
  provider: Provider | null,
  event: RawEventMeta,
  body: unknown,
): Promise<ReadonlyMap<string, unknown>> {
  await keep(service, event, provider?.keeps?.(body) ?? []);
  const needed = provider?.needs?.(body) ?? [];
  return needed.length === 0 ? new Map() : recallObjects(service.postgres, event, needed);
}

/** Adds the kept objects that only the answers name. */
export async function withNamed(
  { postgres }: Pick<KeepingService, "postgres">,
  opened: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<Opened> {
  const { provider, event, body, known } = opened;
  if (answers.size === 0 || provider?.needs === undefined) return opened;
  const ids = provider.needs(body, { ...known, answers }).filter((id) => !known.kept.has(id));
  if (ids.length === 0) return opened;
  const more = await recallObjects(postgres, event, ids);
  return { ...opened, known: { ...known, kept: new Map([...known.kept, ...more]) } };
}

/** Keeps what later events need of the answers. */
export async function keepAnswered(
  service: KeepingService,
  { provider, event, body, known }: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<void> {
  await keep(service, event, provider?.keepsAnswered?.(body, { ...known, answers }) ?? []);
}

/** After a failure some may be kept without notice, so news of them is reported anyway. */
async function keep(
  { postgres, keptNews }: KeepingService,
  event: RawEventMeta,
  reported: readonly KeptObject[],
): Promise<void> {
  if (reported.length === 0) return;
  let isNews = true;
  try {
    isNews = await keepObjects(postgres, event, reported);
  } finally {
    if (isNews) keptNews(event.workspace);
  }
}
