/** What must hold when everything is healed and booked: nothing lost, nothing doubled. */
import { setTimeout as pause } from "node:timers/promises";
import type { Service } from "../../service.js";
import type { ModelEvent } from "../model/facts.js";
import { at, list, must, text } from "../model/readers/json.js";
import type { Endpoint } from "../model/merchant.js";
import { expectModel } from "../model/stories/largest-portfolio.js";
import { severalAtOnce } from "../harness/promises.js";
import { checkPublicTopics } from "./public-topics.js";
import { receiptsOf } from "./raw-events.js";
import type { Workspace } from "./workspaces.js";

export interface Findings {
  readonly rawEvents: number;
  readonly messages: number;
  readonly repeats: number;
  readonly workspacesCompared: number;
  readonly rowsAudited: string;
  /** Acknowledged and not there, one line each. */
  readonly lost: readonly string[];
  /** There twice, one line each. */
  readonly doubled: readonly string[];
  /** Any other difference, one line each. */
  readonly wrong: readonly string[];
}

/** How long an audit of everything may take: beside booking it rests three quarters of its time. */
const auditMsMax = 30 * 60_000;
const comparedAtOnce = 2;

export async function check(
  service: Pick<Service, "log" | "clickhouse">,
  endpoints: readonly Endpoint[],
  workspaces: readonly Workspace[],
  report: (line: string) => void,
): Promise<Findings> {
  const { log, clickhouse } = service;
  const receipts = await receiptsOf(log);
  const lost = [
    ...lostOnTopic(workspaces, receipts),
    ...(await lostInJournal(service, workspaces)),
  ];
  const wrong = inventedOn(workspaces, receipts);
  report(`${receipts.size} events on the raw topic`);
  const topics = await checkPublicTopics(log, clickhouse);
  report(`${topics.messages} messages on the public topics, ${topics.repeats} of them repeats`);
  const doubled = await doubledRows(service);
  const audit = await auditOf(must(endpoints[0], "an interface"));
  report(`audit: ${audit.state}, ${audit.rows} rows`);
  wrong.push(...topics.wrong, ...audit.wrong);
  wrong.push(...(await compareAll(endpoints, workspaces, receipts, report)));
  return {
    rawEvents: receipts.size,
    messages: topics.messages,
    repeats: topics.repeats,
    workspacesCompared: workspaces.length,
    rowsAudited: audit.rows,
    lost,
    doubled,
    wrong,
  };
}

function lostOnTopic(
  workspaces: readonly Workspace[],
  receipts: ReadonlyMap<string, number>,
): string[] {
  return workspaces.flatMap(({ name, acknowledged }) =>
    [...acknowledged]
      .filter(([id]) => !receipts.has(id))
      .map(([id, sent]) => `${name}: ${id} (${sent.source} ${sent.id}) is not on the raw topic`),
  );
}

/** Each has an outcome: facts, ignored or rejected. */
async function lostInJournal(
  { clickhouse }: Pick<Service, "clickhouse">,
  workspaces: readonly Workspace[],
): Promise<string[]> {
  const rows = await clickhouse.rows<{ event_id: string }>(
    "SELECT DISTINCT event_id FROM raw_events WHERE outcome IN ('facts', 'ignored', 'rejected')",
  );
  const known = new Set(rows.map((row) => row.event_id));
  return workspaces.flatMap(({ name, acknowledged }) =>
    [...acknowledged.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `${name}: ${id} has no outcome in raw_events`),
  );
}

/** On the topic though nobody was reported so: everything sent is acknowledged in the end. */
function inventedOn(
  workspaces: readonly Workspace[],
  receipts: ReadonlyMap<string, number>,
): string[] {
  const known = new Set(workspaces.flatMap(({ acknowledged }) => [...acknowledged.keys()]));
  return [...receipts.keys()].filter((id) => !known.has(id)).map((id) => `${id}: nobody sent it`);
}

/** What must be unique in each table that is added up or listed. */
const identities = {
  transactions: "workspace, environment, id, recorded_at, fact_id, version",
  ledger:
    "workspace, environment, payment, entry, kind, provider, external_id, currency, country, " +
    "happened_at, recorded_at, event_id, fact_id, original_amount, amount, tax, fee, sales",
  subscription_changes: "workspace, environment, account, change_id, revision",
  mrr_movements:
    "workspace, environment, account, provider, subscription, external_id, currency, country, " +
    "at, kind, vintage, recorded_at, event_id, mrr",
} as const;

async function doubledRows({ clickhouse }: Pick<Service, "clickhouse">): Promise<string[]> {
  const doubled: string[] = [];
  for (const [table, identity] of Object.entries(identities)) {
    const rows = await clickhouse.rows<Record<string, unknown>>(
      `SELECT ${identity}, toString(count()) AS times FROM ${table}
       GROUP BY ${identity} HAVING count() > 1 LIMIT 100`,
    );
    doubled.push(...rows.map((row) => `${table}: ${JSON.stringify(row)}`));
  }
  return doubled;
}

interface Audit {
  readonly state: string;
  readonly rows: string;
  readonly wrong: readonly string[];
}

async function auditOf({ base, adminToken }: Endpoint): Promise<Audit> {
  const path = `${base}/v1/manage/audits`;
  const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" };
  const asked = await fetch(path, { method: "POST", headers, body: "{}" });
  const id = must(text(await asked.json(), "data", "id"), "an audit");
  for (const startedAt = Date.now(); ;) {
    const reported: unknown = await (await fetch(path, { headers })).json();
    const row = list(reported, "data").find((one) => text(one, "id") === id);
    const state = text(row, "state") ?? "unknown";
    const rows = String(at(row, "rows_compared"));
    if (state === "clean") return { state, rows, wrong: [] };
    if (state === "different" || state === "failed") {
      const why = JSON.stringify([at(row, "failure"), at(row, "findings")]);
      return { state, rows, wrong: [`audit ${state}: ${why}`] };
    }
    if (Date.now() - startedAt > auditMsMax) return { state, rows, wrong: [`audit ${state}`] };
    await pause(500);
  }
}

/** Every figure of every workspace, half of them at each interface. */
async function compareAll(
  endpoints: readonly Endpoint[],
  workspaces: readonly Workspace[],
  receipts: ReadonlyMap<string, number>,
  report: (line: string) => void,
): Promise<string[]> {
  const wrong: string[] = [];
  let left = workspaces.length;
  const compare = async ([index, workspace]: [number, Workspace]): Promise<void> => {
    const endpoint = must(endpoints[index % endpoints.length], "an interface");
    const merchant = { ...workspace.merchant, endpoint };
    try {
      await expectModel(merchant, reportedOf(workspace, receipts));
    } catch (error) {
      wrong.push(`${workspace.name} (${merchant.key}): ${String(error)}`);
    }
    left -= 1;
    if (left % 10 === 0) report(`${left} workspaces left to compare`);
  };
  await severalAtOnce([...workspaces.entries()], compare, comparedAtOnce);
  return wrong;
}

function reportedOf(
  { acknowledged }: Workspace,
  receipts: ReadonlyMap<string, number>,
): ModelEvent[] {
  return [...acknowledged].flatMap(([id, { source, body }]) => {
    const receivedAt = receipts.get(id);
    return receivedAt === undefined ? [] : [{ id, source, body, receivedAt }];
  });
}
