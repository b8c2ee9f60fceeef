/** The content of a proof: figures of the interface, shown as chosen, and how they are known. */
import { z } from "zod";
import type { ProofClaims, ProofFilters } from "../../schemas/http/proofs.js";
import { segmentRef } from "../../schemas/http/series.js";
import { severalOf } from "../../schemas/http/several.js";
import { dayAfter } from "../../schemas/money/rates.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { Service } from "../../service.js";
import type { Proof } from "../../workspaces/proofs.js";
import { contentOf } from "../../workspaces/segments.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { type Reads, askInProcess, ownAccess } from "../reading/in-process.js";
import { figures, periodOf } from "./figures.js";
import type { KnownByOf } from "./known.js";
import { shownFigures } from "./shown.js";

export type Showing = Omit<Proof, "id" | "workspace" | "created_at" | "revoked_at" | "expires_at">;

interface Sources {
  readonly config: Pick<Service["config"], "PUBLIC_URL">;
  readonly postgres: Service["postgres"];
  readonly reads: Reads;
  readonly knownByOf: KnownByOf;
}

/**
 * @throws ApiError as the calls of the interface do
 * @param now ms since 1970
 */
export async function claimsOf(
  { config, postgres, reads, knownByOf }: Sources,
  of: Workspace,
  showing: Showing,
  now: number,
): Promise<ProofClaims> {
  const { figure: chosen, filters, shown_as: as } = showing;
  const figure = figures[chosen];
  const period = periodOf(figure, showing.months, showing.at?.getTime() ?? now);
  const access = ownAccess("proofs", of);
  const { workspace, baseCurrency } = access;
  const answer = await askInProcess(reads, access, figure.path, {
    ...Object.fromEntries(
      Object.entries(filters).flatMap(([name, value]) => (value ? [[name, value]] : [])),
    ),
    ...(period && { from: period.from }),
    ...(period && figure.of === "months" && { to: period.to }),
    ...("rows" in figure && { interval: "month" }),
    ...(showing.at && { at: showing.at.toISOString() }),
    ...(showing.known_at && { known_at: showing.known_at.toISOString() }),
  });
  const { at, complete_to: completeTo } = momentsOf.parse(answer);
  const knownAt = showing.known_at?.toISOString() ?? completeTo;
  const rows = "rows" in figure ? figure.rows(answer) : null;
  const read = rows?.map(({ value }) => value) ?? ("read" in figure ? [figure.read(answer)] : []);
  const { values, text } = shownFigures(read, figure.unit, baseCurrency, as);
  const moments = { at: Date.parse(at), knownAt: Date.parse(knownAt) };
  const ref = filters.segment === undefined ? null : segmentRef.parse(filters.segment);
  const segment =
    ref && (await contentOf(postgres, access, { ...ref, revision: ref.revision ?? 0 }));
  return {
    title: showing.title,
    business: showing.business,
    figure: chosen,
    name: figure.name,
    definition: `${issuerOf(config, showing)}/docs/${figure.definition}`,
    filters,
    segment: segment && { filters: segment.filters, is_of_list: segment.accounts !== null },
    period: period && {
      ...period,
      ...(figure.of === "months and now" && { to: dayAfter(at.slice(0, 10), 1) }),
    },
    shown_as: as,
    currency: figure.unit === "money" && as !== "index" ? baseCurrency : null,
    text,
    value: values.at(-1) ?? null,
    series:
      rows?.map(({ from }, place) => ({
        month: from.slice(0, "YYYY-MM".length),
        value: values[place] ?? null,
      })) ?? null,
    frozen: showing.known_at !== null,
    at,
    known_at: knownAt,
    known_by: await knownByOf(workspace, moments, providersIn(filters, segment?.filters)),
  };
}

/** The address of the service, which no caller can choose. */
export function issuerOf(
  { PUBLIC_URL }: Sources["config"],
  { origin }: Pick<Proof, "origin">,
): string {
  return PUBLIC_URL ?? origin;
}

const momentsOf = z.object({ at: z.string(), complete_to: z.string() });
const providerFilter = severalOf(providerTokens);

/** The interface has checked it already. */
function providersIn(...parts: readonly (ProofFilters | undefined)[]): ReadonlySet<string> | null {
  const filters = parts.flatMap((part) => part?.provider ?? []);
  if (filters.length === 0) return null;
  return filters
    .map((text) => new Set<string>(providerFilter.parse(text)))
    .reduce((one, other) => new Set([...one].filter((provider) => other.has(provider))));
}
