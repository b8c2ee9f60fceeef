/** What a segment means to a call: the filters it adds to those that are given. */
import { LRUCache } from "lru-cache";
import { limits } from "../../config.js";
import { unprocessable } from "../../schemas/http/errors.js";
import { readSegmentFilters } from "../../schemas/http/segments.js";
import { type SegmentRef, segmentRef } from "../../schemas/http/series.js";
import type { Several } from "../../schemas/http/several.js";
import type { Sql } from "../../stores/postgres/postgres.js";
import { type SegmentContent, contentOf, newestRevision } from "../../workspaces/segments.js";
import { type CellQuery, monthsOf } from "../reading/metric-filters.js";
import type { Tenant } from "../../schemas/records/records.js";

type Pinned = SegmentRef & { readonly revision: number };

/** A call's filters, some of which it may not know. */
export type Narrowable = Omit<CellQuery, "accounts"> & {
  readonly segment?: SegmentRef | undefined;
};

export class Segments {
  readonly #held = new LRUCache<string, SegmentContent>({ max: limits.segmentsHeldMax });

  constructor(private readonly postgres: Sql) {}

  /**
   * The revision that counts, so that all pages of a list, and its links, are of one.
   * @throws ApiError 422
   */
  pinned(tenant: Tenant, ref: SegmentRef): Promise<Pinned> {
    return pinnedSegment(this.postgres, tenant, ref);
  }

  /**
   * @param known the parameters of the call
   * @returns the query with what the segment adds: each filter, and the accounts of its list
   * @throws ApiError 422 for a segment that is not there, or by which the call cannot filter
   */
  async narrowed<Query extends Narrowable>(
    tenant: Tenant,
    query: Query,
    known: Readonly<Record<string, unknown>>,
  ): Promise<Query & Pick<CellQuery, "accounts">> {
    if (query.segment === undefined) return query;
    const { filters, accounts } = await this.#contentOf(
      tenant,
      await this.pinned(tenant, query.segment),
    );
    // Of accounts, which every call knows: the list, and at what they began.
    const { first_price: _firstPrice, ...parts } = filters;
    const unknown = Object.keys(parts).find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) throw notApplicable(unknown);
    const { first_price: firstPrice, ...added } = readSegmentFilters.parse(filters);
    const isOfAccounts = accounts !== null || firstPrice !== undefined;
    const both = {
      ...(added.provider && { provider: common(query.provider, added.provider) }),
      ...(added.product && { product: narrower(query.product, added.product) }),
      ...(added.currency && { currency: narrower(query.currency, added.currency) }),
      ...(added.country && { country: narrower(query.country, added.country) }),
      ...(added.plan_interval && {
        plan_interval: common(query.plan_interval, added.plan_interval),
      }),
      ...(added.vintage && {
        vintage: narrower(query.vintage && wholeMonths(query.vintage), wholeMonths(added.vintage)),
      }),
      ...(isOfAccounts && { accounts: { listed: accounts ?? undefined, firstPrice } }),
    };
    return { ...query, ...both };
  }

  async #contentOf(tenant: Tenant, ref: Pinned): Promise<SegmentContent> {
    const { workspace, environment } = tenant;
    const name = `${workspace} ${environment} ${ref.id}.${ref.revision}`;
    const held = this.#held.get(name);
    if (held !== undefined) return held;
    const content = await contentOf(this.postgres, tenant, ref);
    if (content === null) throw segmentUnknown();
    this.#held.set(name, content);
    return content;
  }
}

/** Of single events no more is known: not when, nor at what price, their account began. */
const eventFilters = new Set(["provider", "product", "currency", "country"]);

/** @throws ApiError 422 */
export function checkOfEvents(filters: SegmentContent["filters"]): void {
  const unknown = Object.keys(filters).find((name) => !eventFilters.has(name));
  if (unknown !== undefined) throw notApplicable(unknown);
}

/**
 * What single events may be filtered by, as they come.
 * @throws ApiError 422
 */
export async function segmentOfEvents(
  postgres: Sql,
  tenant: Tenant,
  ref: SegmentRef,
): Promise<SegmentContent & { readonly text: string }> {
  const pinned = await pinnedSegment(postgres, tenant, ref);
  const content = await contentOf(postgres, tenant, pinned);
  if (content === null) throw segmentUnknown();
  checkOfEvents(content.filters);
  return { ...content, text: textOf(pinned) };
}

/** @throws ApiError 422 */
async function pinnedSegment(
  postgres: Sql,
  tenant: Tenant,
  { id, revision }: SegmentRef,
): Promise<Pinned> {
  const counts = revision ?? (await newestRevision(postgres, tenant, id));
  if (counts === null) throw segmentUnknown();
  return { id, revision: counts };
}

/** The same as text: what is asked with it, and linked to, is of one revision. */
export async function pinnedText(postgres: Sql, tenant: Tenant, text: string): Promise<string> {
  return textOf(await pinnedSegment(postgres, tenant, segmentRef.parse(text)));
}

export function textOf({ id, revision }: Pinned): string {
  return `${id}.${revision}`;
}

function common(one: readonly string[] | undefined, other: readonly string[]): readonly string[] {
  return other.filter((value) => one?.includes(value) ?? true);
}

/** What passes both; nothing, where they have no value in common. */
export function narrower(one: Several | undefined, other: Several): Several {
  if (one === undefined) return other;
  if (one.isNot && other.isNot) {
    return { isNot: true, values: [...new Set([...one.values, ...other.values])].sort() };
  }
  const [wanted, filter] = one.isNot ? [other, one] : [one, other];
  const values = wanted.values.filter((value) => filter.values.includes(value) !== filter.isNot);
  return { isNot: false, values };
}

/** Quarters and years as months, so that they can be held against each other. */
function wholeMonths(vintages: Several): Several {
  const { isNot, values } = monthsOf(vintages);
  return { isNot, values: values.map((day) => day.slice(0, "YYYY-MM".length)) };
}

function segmentUnknown() {
  const message = "There is no such segment in this workspace and environment.";
  return unprocessable("segment_unknown", message, "segment");
}

function notApplicable(filter: string) {
  return unprocessable(
    "segment_not_applicable",
    `The segment filters by ${filter}, by which this cannot be told apart.`,
    "segment",
  );
}
