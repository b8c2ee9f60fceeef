/** Readings of a provider's history, and the figures that come of them. */
import { hash } from "node:crypto";
import { expect } from "chai";
import type { z } from "zod";
import type { Product } from "../../api/products/schema.js";
import type { backfill, ReconciliationView } from "../../schemas/http/manage.js";
import type { TransactionsAnswer } from "../../schemas/http/transactions.js";
import type { Endpoints } from "./endpoints.js";
import { untilThere } from "./promises.js";

type Backfill = z.infer<typeof backfill>;
/** Asserted on when it has ended: with a comparison. */
export type ShownBackfill = Backfill & { comparison: NonNullable<Backfill["comparison"]> };

type Managed = Pick<Endpoints, "manage" | "path">;

/** @param from a day */
export async function startBackfill(
  to: Managed,
  id: string,
  from: string,
  ids?: readonly string[],
): Promise<void> {
  const started = await to.manage("POST", pathOf(to, id), { from, ids });
  expect(started.status, started.text).to.equal(202);
}

export async function shownBackfill(to: Managed, id: string): Promise<ShownBackfill> {
  return (await to.manage("GET", pathOf(to, id))).json.data;
}

export async function endedBackfill(to: Managed, id: string): Promise<ShownBackfill> {
  return untilThere(async () => {
    const shown = await shownBackfill(to, id);
    return shown.state === "reading" || shown.state === "comparing" ? null : shown;
  });
}

/** Reads all of it. @param from a day */
export async function backfilled(
  to: Managed,
  id: string,
  from: string,
  ids?: readonly string[],
): Promise<ShownBackfill> {
  await startBackfill(to, id, from, ids);
  return endedBackfill(to, id);
}

function pathOf({ path }: Managed, integration: string): string {
  return `${path}/integrations/${integration}/backfill`;
}

/** Half of what webhooks report comes before a reading, half between it and the next. */
export async function backfilledBetween<One>(
  to: Endpoints,
  given: {
    readonly id: string;
    readonly from: string;
    readonly ids?: readonly string[];
    readonly reported: readonly One[];
    readonly seed: number;
    readonly deliver: (some: readonly One[]) => Promise<void>;
  },
): Promise<void> {
  const { id, from, ids, reported, seed, deliver } = given;
  for (const half of inHalves(reported, seed)) {
    await deliver(half);
    const done = await backfilled(to, id, from, ids);
    expect(done, `seed ${seed}: ${done.problem}`).to.include({ state: "done" });
  }
}

/** One line for each month and currency: `2026-01 USD 3 30 5`, and whether it agrees. */
export function monthsOf({ comparison }: ShownBackfill): string[] {
  return comparison.map(({ month, currency, listed, same }) =>
    [month, currency, listed.count, listed.amount, listed.refunded, same ? "same" : "other"].join(
      " ",
    ),
  );
}

export type Figures = Awaited<ReturnType<typeof figuresOf>>;

/** All that is shown, whatever workspace it is of. @param moments at which MRR is looked at */
export async function figuresOf(
  endpoints: Pick<Endpoints, "booked" | "get">,
  moments: readonly string[],
) {
  await endpoints.booked();
  const read = async (url: string) => (await endpoints.get(url)).json.data;
  const mrr: number[] = [];
  for (const at of moments) mrr.push((await read(`/v1/metrics/mrr?at=${at}`)).current_mrr);
  const transactions: TransactionsAnswer["data"] = await read("/v1/transactions?limit=200");
  const products: Product[] = await read("/v1/products?period=lifetime");
  // Ids are of the workspace; versions say how often a row was written.
  return {
    mrr,
    transactions: transactions
      .map(({ id: _id, version: _v, account: _a, product_id: _p, ...row }) => row)
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    products: products.map(({ id: _id, slug: _slug, ...row }) => row),
  };
}

/** Those that come before a backfill, and those that come after it, in an order of the seed's. */
export function inHalves<One>(
  all: readonly One[],
  seed: number,
): readonly [before: One[], after: One[]] {
  const placed = all.map((one, index) => ({ one, place: hash("sha256", `${seed} ${index}`) }));
  placed.sort((one, other) => (one.place < other.place ? -1 : 1));
  const shuffled = placed.map(({ one }) => one);
  const half = Math.ceil(shuffled.length / 2);
  return [shuffled.slice(0, half), shuffled.slice(half)];
}

/** Of each month, from the first one on. */
export async function coverageOf(
  { manage, path }: Managed,
  integration: string,
): Promise<{ readonly month: string; readonly known_by: string }[]> {
  return (await manage("GET", `${path}/integrations/${integration}/coverage`)).json.data.months;
}

export function reconciliationPath({ path }: Endpoints, integration: string): string {
  return `${path}/integrations/${integration}/reconciliation`;
}

/** Compares these months. @param from YYYY-MM */
export async function reconciled(
  to: Endpoints,
  id: string,
  months: { readonly from: string; readonly to?: string },
): Promise<ReconciliationView> {
  const started = await to.manage("POST", reconciliationPath(to, id), months);
  expect(started.status, started.text).to.equal(202);
  return endedReconciliation(to, id, months);
}

export async function endedReconciliation(
  to: Endpoints,
  id: string,
  months: { readonly from: string; readonly to?: string },
): Promise<ReconciliationView> {
  const query = new URLSearchParams(months).toString();
  return untilThere(async () => {
    const answer = await to.manage("GET", `${reconciliationPath(to, id)}?${query}`);
    expect(answer.status, answer.text).to.equal(200);
    const shown: ReconciliationView = answer.json.data;
    return shown.months.every(({ state }) => state !== "waiting") ? shown : null;
  });
}

/** The provider's own, beside ours. */
export function ownFiguresOf({
  months,
}: ReconciliationView): NonNullable<ReconciliationView["months"][number]["report"]>["own_figures"] {
  return months.flatMap(({ report }) => report?.own_figures ?? []);
}

/** That every month was compared, something was in them, and each agrees to the cent. */
export function expectAgreement({ months, score_pct: score }: ReconciliationView): void {
  for (const { month, state, problem, report } of months) {
    expect(state, `${month}: ${problem}`).to.equal("done");
    expect(report?.differences, month).to.deep.equal([]);
    for (const { listed, booked } of report?.currencies ?? []) {
      expect(booked, month).to.deep.equal(listed);
    }
  }
  expect(score).to.equal(100);
}
