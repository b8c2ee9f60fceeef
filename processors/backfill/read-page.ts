/** Reads one page of a list of a provider's API, for whatever it is read for. */
import { withDeadline } from "../../runtime/deadline.js";
import type { ProviderApis } from "../../providers/api/provider-api.js";
import type { HistoryList, HistoryPage, Span } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import { parseJsonText } from "../../schemas/json.js";
import type { Integration } from "../../workspaces/integrations.js";

/** One answer with a page of history, and all tries for it; less than the lease of a backfill. */
const answerMsMax = 30_000;
const pageMsMax = 90_000;
/** What a page shows is dated so much before it was asked for: a provider's clock may differ. */
export const clockSkewMsMax = 60_000;

export interface ReadList {
  readonly provider: Provider;
  readonly integration: Pick<Integration, "id" | "credentials">;
  readonly list: HistoryList;
  readonly span: Span;
}

/** Why there is no page: for good, or for now. */
export interface Unread {
  readonly for: "good" | "now";
  readonly problem: string;
}

/** @param after `next` of the page before; null for the first */
export async function readPage(
  { apis, stopping }: { readonly apis: ProviderApis; readonly stopping: AbortSignal },
  { provider, integration, list, span }: ReadList,
  after: string | null,
): Promise<HistoryPage | Unread> {
  // What changes while the page is under way is reported by a webhook, which must be the newer.
  const asOf = Date.now() - clockSkewMsMax;
  const [credentials] = integration.credentials;
  const path = list.path(span, after, credentials);
  const asked = await withDeadline(pageMsMax, stopping, (signal) =>
    apis.ask(
      { provider, integration: { id: integration.id, credentials } },
      { path, json: list.body?.(span), freshForMs: 0, answerMsMax },
      signal,
    ),
  );
  const of = `The API of ${provider.token}`;
  if (asked.outcome === "silent") {
    return { for: "good", problem: "The integration has no key for the provider's API." };
  }
  if (asked.outcome === "refused") {
    return { for: "good", problem: `${of} refused ${list.name}: ${asked.detail}.` };
  }
  if (asked.outcome === "trouble") {
    return { for: "now", problem: `${of} cannot be had: ${asked.detail}.` };
  }
  const json = asked.text === null ? absent : parseJsonText(asked.text);
  const isReadable = json.ok && (json !== absent || list.ofEach !== undefined);
  const page = isReadable ? list.read(json.value, asOf, span, after, credentials) : null;
  return page ?? { for: "good", problem: `${of} answered no page of ${list.name}.` };
}

const absent = { ok: true, value: null } as const;
