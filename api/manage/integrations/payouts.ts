/** Payouts to the bank, read from the provider's API on demand; nothing is kept. */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../../config.js";
import { askFile, askJson, type Unread } from "../../../providers/api/ask-json.js";
import type { Asker } from "../../../providers/api/provider-api.js";
import {
  type Ask,
  type Making,
  type Payouts,
  type PayoutLine,
  PayoutUnread,
} from "../../../providers/payouts.js";
import type { ProviderApi } from "../../../providers/provider.js";
import { chunksBySize } from "../../../runtime/chunk.js";
import { withDeadline } from "../../../runtime/deadline.js";
import { notFound, unavailable, unprocessable } from "../../../schemas/http/errors.js";
import {
  type OpenedPayoutView,
  type PayoutsView,
  openedPayout,
  payouts as payoutsShape,
  payoutsQuery,
} from "../../../schemas/http/payouts.js";
import { transactionId } from "../../../schemas/ids.js";
import { utcDay } from "../../../schemas/money/rates.js";
import type { Service } from "../../../service.js";
import type { Integration } from "../../../workspaces/integrations.js";
import { type Manage, ofWorkspace } from "../calls.js";
import { openedPayoutView, payoutView } from "./payout-view.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/payouts";
const dayMs = 24 * 60 * 60 * 1000;
const daysByDefault = 90;
/** Payouts that are under way arrive within this time. */
const daysAhead = 31;
/** Of one answer of the provider, and of the whole call: callers give up after a minute. */
const answerMsMax = 20_000;
const readMsMax = 50_000;
const idsAtOnce = 1_000;
/** As a sentence calls what is asked for. */
const name = "payouts";
/** When to try again what is being made. */
const passingSeconds = 5;
/** Only the deadline ends a reading. */
const never = new AbortController().signal;

export const payoutRoutes = [
  ofWorkspace.get(path, "Payouts to the bank", {
    right: "look",
    query: payoutsQuery,
    answer: payoutsShape,
    errors: [422],
    find: integrationOf,
    async run({ found, query, ...service }) {
      const days = givenDays(query, Date.now());
      return reading(service, found.id, async (payouts, ask): Promise<PayoutsView> => {
        const span = { from: Date.parse(days.from), to: Date.parse(days.to) + dayMs - 1 };
        const { rows, isWhole } = await taken(payouts.list(span, ask), limits.payoutsListedMax);
        return {
          ...days,
          dated_by: payouts.dated,
          payouts: rows.map(payoutView),
          left_out: !isWhole,
          not_shown: [...payouts.notShown],
        };
      });
    },
  }),
  ofWorkspace.get(`${path}/{payout}`, "What a payout is made of, to the cent", {
    right: "look",
    answer: openedPayout,
    errors: [422],
    find: integrationOf,
    run: ({ found, ctx, ...service }) =>
      reading(service, found.id, async (payouts, ask, given): Promise<OpenedPayoutView> => {
        const { integration, making } = given;
        const opened = await payouts.open(String(ctx.params.payout), ask, making);
        if (opened === null) {
          throw notFound("payout_unknown", "The provider has no such payout.");
        }
        const { payout, problem } = opened;
        const { rows, isWhole } = await taken(opened.lines, limits.payoutLinesMax);
        const transactionOf = await bookedOf(service, integration, rows);
        return {
          ...payoutView(payout),
          ...openedPayoutView(payout, rows, transactionOf),
          left_out: !isWhole,
          problem,
        };
      }),
  }),
];

interface Given {
  readonly integration: Integration;
  readonly making: Making;
}

/** @throws ApiError 422, 503 */
async function reading<T>(
  { apis, integrations, providers }: Pick<Manage, "apis" | "integrations" | "providers">,
  id: string,
  read: (payouts: Payouts, ask: Ask, given: Given) => Promise<T>,
): Promise<T> {
  const integration = await integrations.byId(id);
  const provider = integration && providers.get(integration.provider);
  if (!integration || provider?.payouts === undefined) {
    throw unprocessable("payouts_unsupported", "The payouts of this provider cannot be read.");
  }
  const { payouts } = provider;
  const asker = { provider, integration: { id, credentials: integration.credentials[0] } };
  return withDeadline(readMsMax, never, async (signal) => {
    const making: Making = {
      now: Date.now(),
      file: (url) => fileAt(url, { apis }, asker, signal),
      pause,
    };
    try {
      return await read(payouts, asking({ apis }, asker, signal), { integration, making });
    } catch (error) {
      if (!(error instanceof PayoutUnread)) throw error;
      throw error.isPassing
        ? unavailable("payout_not_ready", error.message, passingSeconds)
        : unprocessable("payouts_unreadable", error.message);
    }
  });
}

function asking({ apis }: Pick<Service, "apis">, asker: Asker, signal: AbortSignal): Ask {
  return async (asked, shape, json) => {
    const question = { path: asked, json, answerMsMax, name };
    const found = await askJson(apis, asker, question, signal);
    if ("problem" in found) throw unread(found);
    if (found.value === null) return null;
    const parsed = shape.safeParse(found.value);
    if (parsed.success) return parsed.data;
    const message = `The API of ${asker.provider.token} answered no payouts.`;
    throw unprocessable("payouts_unreadable", message);
  };
}

/** What leads anywhere else than the provider names is not followed. */
async function fileAt(
  url: string,
  { apis }: Pick<Service, "apis">,
  { provider, integration }: Asker,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const { origin, protocol, host, pathname, search } = new URL(url);
  const { api, payouts } = provider;
  if (protocol !== "https:" || payouts?.fileHosts?.includes(host) !== true || api === undefined) {
    const message = `${provider.token} names a file at ${origin}, which is no host of its own.`;
    throw unprocessable("payouts_unreadable", message);
  }
  // A line of its own: what serves files is another server, which may fail when the API does not.
  const asker: Asker = {
    provider: { ...provider, api: withoutCredentials(api, origin) },
    integration: integration && { id: `${integration.id} files`, credentials: null },
  };
  const found = await askFile(apis, asker, { path: pathname + search, answerMsMax, name }, signal);
  if ("problem" in found) throw unread(found);
  return found.bytes;
}

function withoutCredentials(
  { requestsPerSecond, limitsAddress }: ProviderApi<unknown>,
  origin: string,
): ProviderApi<unknown> {
  return {
    baseUrl: () => origin,
    allowsCalls: () => true,
    authorize: async () => ({ headers: {}, until: Number.MAX_SAFE_INTEGER }),
    requestsPerSecond,
    ...(limitsAddress && { limitsAddress }),
  };
}

function unread({ for: how, problem }: Unread) {
  return how === "now"
    ? unavailable("provider_unavailable", problem)
    : unprocessable("payouts_unreadable", problem);
}

/** Both inclusive. @throws ApiError 422 */
function givenDays(
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): { readonly from: string; readonly to: string } {
  const to = given.to ?? utcDay(now + daysAhead * dayMs);
  const before = given.to === undefined ? now : Date.parse(to);
  const from = given.from ?? utcDay(before - daysByDefault * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1 || days > limits.payoutDaysMax) {
    const message = `from must be before to, and both at most ${limits.payoutDaysMax} days apart.`;
    throw unprocessable("from_out_of_range", message, "from");
  }
  return { from, to };
}

/** Asks for no more pages than it takes. */
async function taken<T>(
  all: AsyncIterable<T>,
  max: number,
): Promise<{ readonly rows: readonly T[]; readonly isWhole: boolean }> {
  const rows: T[] = [];
  for await (const one of all) {
    if (rows.length === max) return { rows, isWhole: false };
    rows.push(one);
  }
  return { rows, isWhole: true };
}

/** Which payments are booked, by the ids that their transactions have. */
async function bookedOf(
  { clickhouse }: Pick<Service, "clickhouse">,
  { workspace, environment, provider }: Integration,
  lines: readonly PayoutLine[],
): Promise<(payment: string) => string | null> {
  const idOf = (payment: string) => transactionId(workspace, environment, provider, payment);
  const ids = [...new Set(lines.flatMap(({ payment }) => (payment === null ? [] : idOf(payment))))];
  const booked = new Set<string>();
  for (const some of chunksBySize(ids, idsAtOnce, () => 1)) {
    const rows = await clickhouse.rows<{ id: string }>(
      `SELECT DISTINCT id FROM transactions
       WHERE workspace = {workspace:String} AND environment = {environment:String}
         AND id IN {ids:Array(String)}`,
      { workspace, environment, ids: some },
    );
    for (const { id } of rows) booked.add(id);
  }
  return (payment) => (booked.has(idOf(payment)) ? idOf(payment) : null);
}
