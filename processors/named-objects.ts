/**
 * Objects an event, or an answer of its provider's API, only names: told whole by others before
 * (`providers/provider.ts`, KeptObject).
 */
import { keepObjects, recallObjects } from "../backends/kept-objects.js";
import type { Provider } from "../providers/provider.js";
import type { RawEventMeta } from "../schemas/records.js";
import type { NormalizingService } from "./normalize.js";
import type { Opened } from "./read-raw.js";

type KeepingService = Pick<NormalizingService, "postgres" | "keptNews">;

/** What the event names without telling it may have been told by an earlier one. */
export async function keptFor(
  { postgres, keptNews }: KeepingService,
  provider: Provider | null,
  event: RawEventMeta,
  body: unknown,
): Promise<ReadonlyMap<string, unknown>> {
  const told = provider?.keeps?.(body) ?? [];
  if (told.length > 0 && (await keepObjects(postgres, event, told))) keptNews(event.workspace);
  const needed = provider?.needs?.(body) ?? [];
  return needed.length === 0 ? new Map() : recallObjects(postgres, event, needed);
}

/** With the kept objects that only the answers name, beside those the body names itself. */
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

/** What later events need, as the answers tell it; also where there is nobody to ask. */
export async function keepAnswered(
  { postgres, keptNews }: KeepingService,
  { provider, event, body, known }: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<void> {
  const told = provider?.keepsAnswered?.(body, { ...known, answers }) ?? [];
  if (told.length > 0 && (await keepObjects(postgres, event, told))) keptNews(event.workspace);
}
