import { withDeadline } from "../../runtime/deadline.js";
import { askJson, type Unread } from "../../providers/api/ask-json.js";
import type { ProviderApis } from "../../providers/api/provider-api.js";
import type { HistoryExport, HistoryList, HistoryPage, Span } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import type { Backfill } from "../../workspaces/history/backfills.js";
import { linesAfter, placeText } from "../../workspaces/history/export-lines.js";

/** One page with all its tries; less than the lease of a backfill. */
const answerMsMax = 30_000;
const pageMsMax = 90_000;
/** What a page shows is dated this much earlier, because a provider's clock may differ. */
export const clockSkewMsMax = 60_000;

interface ReadList {
  readonly provider: Provider;
  readonly integration: Pick<Integration, "id" | "credentials">;
  readonly list: HistoryList;
  readonly span: Span;
}

/** @param after `next` of the page before; null for the first */
export async function readPage(
  { apis, stopping }: { readonly apis: ProviderApis; readonly stopping: AbortSignal },
  { provider, integration, list, span }: ReadList,
  after: string | null,
): Promise<HistoryPage | Unread> {
  // A webhook about a change during the call must count as the newer one.
  const asOf = Date.now() - clockSkewMsMax;
  const [credentials] = integration.credentials;
  const path = list.path(span, after, credentials);
  const question = { path, json: list.body?.(span), name: list.name };
  const asked = await askPatiently({ apis, stopping }, { provider, integration }, question);
  if ("problem" in asked) return asked;
  const isReadable = asked.value !== null || list.ofEach !== undefined;
  const page = isReadable ? list.read(asked.value, asOf, span, after, credentials) : null;
  const problem = `The API of ${provider.token} answered no page of ${list.name}.`;
  return page ?? { for: "good", problem };
}

/** One answer, with all tries that it takes. */
export function askPatiently(
  { apis, stopping }: { readonly apis: ProviderApis; readonly stopping: AbortSignal },
  { provider, integration }: Pick<ReadList, "provider" | "integration">,
  question: { readonly path: string; readonly json?: object | undefined; readonly name: string },
): ReturnType<typeof askJson> {
  const [credentials] = integration.credentials;
  const asker = { provider, integration: { id: integration.id, credentials } };
  return withDeadline(pageMsMax, stopping, (signal) =>
    askJson(apis, asker, { ...question, answerMsMax }, signal),
  );
}

const linesOfPage = 100;

export interface ExportList {
  readonly name: string;
  readonly reportsPayments: true;
  readonly ofEach?: undefined;
  readonly lineOf: HistoryExport["lineOf"];
}

export function exportList(of: HistoryExport): ExportList {
  return { name: of.name, reportsPayments: true, lineOf: (cells) => of.lineOf(cells) };
}

/** Reads a page of an uploaded export: its lines, by what they are about and by time. */
export async function readLines(
  stores: { readonly postgres: Postgres; readonly vault: Vault },
  list: ExportList,
  { id, after, coversTo, createdAt }: Backfill,
): Promise<HistoryPage> {
  // One more line, because whether a period ended depends on the next one.
  const lines = await linesAfter(stores, id, after, linesOfPage + 1);
  const page = lines.slice(0, linesOfPage);
  const asOf = (coversTo ?? createdAt).getTime();
  const read = page.map(({ cells, thing }, index) => {
    const next = lines[index + 1];
    const nextAt = next?.thing === thing ? next.at : null;
    const line = list.lineOf(cells);
    if (typeof line === "string") throw new Error(`a line that was kept cannot be read: ${line}`);
    return line.read({ asOf, nextAt });
  });
  const last = lines.length > page.length ? page.at(-1) : undefined;
  return {
    objects: page.length,
    events: read.flatMap(({ events }) => events),
    payments: read.flatMap(({ payments }) => payments),
    next: last === undefined ? null : placeText(last),
  };
}
