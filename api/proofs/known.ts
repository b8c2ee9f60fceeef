/** How a figure is known: what was booked and how it was checked, coverage, reconciliation. */
import type { CoverageView } from "../../schemas/http/manage.js";
import type { ProofClaims } from "../../schemas/http/proofs.js";
import { monthNumber, monthText } from "../../schemas/months.js";
import type { Service } from "../../service.js";
import { openCoverage } from "../../workspaces/history/coverage.js";
import { lastScores } from "../../workspaces/history/reconciliations.js";
import { integrationsOf } from "../../workspaces/integration-records.js";

type KnownBy = ProofClaims["known_by"];
type Source = Pick<Service, "clickhouse" | "postgres">;
export type KnownByOf = ReturnType<typeof openKnownBy>;

/** The number of integrations that one statement names, the oldest first. */
const integrationsMax = 100;

/**
 * @param at ms since 1970, as `knownAt`
 * @param providers those that count; null: all
 */
export function openKnownBy(service: Source) {
  const coverageOf = openCoverage(service);
  return async (
    workspace: string,
    { at, knownAt }: { readonly at: number; readonly knownAt: number },
    providers: ReadonlySet<string> | null,
  ): Promise<KnownBy> => {
    const counts = ({ provider }: { readonly provider: string }) =>
      providers === null || providers.has(provider);
    const tenant = { workspace, environment: "live" } as const;
    const all = await integrationsOf(service.postgres, tenant, integrationsMax);
    const made = all.filter((one) => counts(one) && one.created_at.getTime() <= knownAt);
    const ids = made.map(({ id }) => id);
    const scores = await lastScores(service.postgres, ids, monthText(monthNumber(at)));
    const integrations = await Promise.all(
      made.map(async (one) => {
        const score = scores.find(({ integration }) => integration === one.id);
        const coverage = await coverageOf(workspace, one, Math.max(at, one.created_at.getTime()));
        return {
          provider: one.provider,
          connected_at: one.created_at.toISOString(),
          months: monthsBy(coverage.months),
          reconciliation:
            score === undefined
              ? null
              : {
                  month: score.month,
                  score_pct: score.score_pct,
                  compared_at: score.compared_at.toISOString(),
                },
        };
      }),
    );
    const booked = await bookedBy(service, workspace, knownAt);
    return { events: sharesOf(booked.filter(counts)), integrations };
  };
}

function monthsBy(months: CoverageView["months"]) {
  const by = { webhook: 0, api: 0, export: 0, report: 0, none: 0 };
  for (const { known_by: how } of months) by[how] += 1;
  return by;
}

interface Booked {
  readonly provider: string;
  readonly verdict: string;
  readonly events: string;
}

function bookedBy({ clickhouse }: Source, workspace: string, knownAt: number) {
  return clickhouse.rows<Booked>(
    `SELECT provider, verdict, toString(count()) AS events FROM raw_events
     WHERE workspace = {workspace:String} AND environment = 'live' AND outcome = 'facts'
       AND received_at <= fromUnixTimestamp64Milli({known_at:Int64}, 'UTC')
     GROUP BY provider, verdict ORDER BY count() DESC, provider, verdict`,
    { workspace, known_at: knownAt },
  );
}

/** Shares, not counts: the number of a business's events is private. */
function sharesOf(booked: readonly Booked[]): KnownBy["events"] {
  const all = booked.reduce((sum, { events }) => sum + BigInt(events), 0n);
  return booked.map(({ provider, verdict, events }) => ({
    provider,
    checked: verdict,
    share_pct: Number((BigInt(events) * 100n) / all),
  }));
}
