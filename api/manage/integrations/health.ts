/**
 * The health of an integration, as lists show it: what arrived, what was refused at ingest, what
 * could not be booked.
 */
import { type CallsRow, callsOf, takenVerdict } from "../../../workspaces/integration-calls.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";
import { type IntegrationRejects, openRejectsOf } from "../../../workspaces/rejects/rejects.js";
import type { NeededOf } from "../../../workspaces/needed-events.js";
import type { Service } from "../../../service.js";
import { limits } from "../../../config.js";
import type { IntegrationHealth, NeededEvents } from "../../../schemas/http/manage.js";

/**
 * @param neededOf what the integrations of a workspace need
 * @param now ms since 1970
 */
export async function healthOf(
  { postgres, clickhouse }: Pick<Service, "postgres" | "clickhouse">,
  neededOf: NeededOf,
  workspace: string,
  integrations: readonly Pick<IntegrationRecord, "id" | "credentials_set">[],
  now: number,
): Promise<(integration: string) => IntegrationHealth> {
  const ids = integrations.map(({ id }) => id);
  if (ids.length === 0) return () => health([], undefined, [], now);
  const [calls, rejects, needed] = await Promise.all([
    callsOf(postgres, ids),
    openRejectsOf(clickhouse, workspace, ids),
    neededOf(workspace),
  ]);
  return (id) => {
    const found = health(
      calls.filter(({ integration }) => integration === id),
      rejects.find(({ integration }) => integration === id),
      needed.get(id) ?? [],
      now,
    );
    const isFinished = integrations.some((one) => one.id === id && one.credentials_set.length > 0);
    return isFinished ? found : { ...found, state: "unfinished" };
  };
}

function health(
  calls: readonly CallsRow[],
  rejects: IntegrationRejects | undefined,
  needed: readonly NeededEvents[],
  now: number,
): IntegrationHealth {
  const { state, taken, refused } = callHealth(calls, now, needed);
  const refusals = calls.filter(({ verdict }) => verdict !== takenVerdict);
  return {
    state,
    deliveries: Number(taken?.calls ?? 0n),
    last_delivery_at: taken?.last_at.toISOString() ?? null,
    refused: Number(refusals.reduce((sum, row) => sum + row.calls, 0n)),
    last_refused_at: refused?.last_at.toISOString() ?? null,
    last_refused_reason: refused?.verdict ?? null,
    open_rejects: Number(rejects?.open ?? 0),
    last_reject_at: rejects === undefined ? null : `${rejects.last_at.replace(" ", "T")}Z`,
    last_reject_reason: rejects?.last_reason ?? null,
    needed_events: [...needed],
  };
}

/** The accepted calls of one integration, and the newest refusal. */
export function callHealth(
  calls: readonly CallsRow[],
  now: number,
  needed: readonly NeededEvents[] = [],
) {
  const taken = calls.find(({ verdict }) => verdict === takenVerdict);
  const refusals = calls.filter(({ verdict }) => verdict !== takenVerdict);
  const refused = refusals.toSorted((one, other) => timeOf(other) - timeOf(one))[0];
  return { state: stateOf(taken, refused, needed, now), taken, refused };
}

function stateOf(
  taken: CallsRow | undefined,
  refused: CallsRow | undefined,
  needed: readonly NeededEvents[],
  now: number,
): Exclude<IntegrationHealth["state"], "unfinished"> {
  if (refused !== undefined && (taken === undefined || timeOf(refused) > timeOf(taken))) {
    return "refused";
  }
  if (taken === undefined) return "waiting";
  if (needed.some(({ state }) => state === "missing")) return "incomplete";
  return now - timeOf(taken) > limits.integrationQuietMs ? "quiet" : "receiving";
}

function timeOf({ last_at: at }: CallsRow): number {
  return at.getTime();
}
