/** Computes MRR by two definitions, account by account, in slices of accounts. */
import { limits } from "../../config.js";
import { compare, grouped, inTurns } from "../../runtime/lists.js";
import {
  type Comparison,
  type Definition,
  type Reading,
  compareAccount,
} from "../../schemas/definitions/definition.js";
import { refundEnds } from "../../schemas/definitions/rules.js";
import { unprocessable } from "../../schemas/http/errors.js";
import { accountStateAt } from "../../schemas/subscriptions/account-state.js";
import type { Service } from "../../service.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { rowsOf } from "../reading/reading.js";
import {
  type AccountsCompared,
  type ComparedChange,
  type RefundedRow,
  changesCountQuery,
  changesQuery,
  refundedQuery,
  sliceEndQuery,
} from "./query.js";

export interface ComparedAccount extends Comparison {
  readonly account: string;
  readonly provider: string;
  /** Theirs less ours. */
  readonly difference: bigint;
}

export interface Compared {
  readonly ours: bigint;
  /** Those that any rule changes, the largest difference first. */
  readonly accounts: readonly ComparedAccount[];
}

type Store = Pick<Service, "clickhouse" | "rates">;

/** @throws ApiError 422 when there are more changes than one call may read */
export async function compareAccounts(
  service: Store,
  definition: Definition,
  of: AccountsCompared,
  currency: string,
): Promise<Compared> {
  let ours = 0n;
  const accounts: ComparedAccount[] = [];
  await readAccounts(service, definition, of, [of.asOf.at], currency, (read) => {
    for (const reading of read.readings) {
      const compared = compareAccount(definition, reading);
      ours += compared.ours;
      if (compared.differences.length === 0) continue;
      const difference = compared.differences.reduce((sum, { mrr }) => sum + mrr, 0n);
      accounts.push({ account: read.account, provider: read.provider, difference, ...compared });
    }
  });
  return { ours, accounts: accounts.sort(largestFirst) };
}

interface AccountRead {
  readonly account: string;
  readonly provider: string;
  readonly readings: readonly Reading[];
}

/**
 * Every account as a definition reads it at some moments.
 * @param moments ms since 1970, none after `of.asOf.at`
 * @throws ApiError 422 when there are more changes than one call may read
 */
export async function readAccounts(
  service: Store,
  { rules }: Definition,
  of: AccountsCompared,
  moments: readonly number[],
  currency: string,
  take: (read: AccountRead) => void,
): Promise<void> {
  await checkSize(service, of);
  const readAt: ((account: string, changes: readonly ComparedChange[]) => Reading)[] = [];
  // One statement after another, because other callers need connections, too.
  for (const at of moments) {
    const asOf = { ...of.asOf, at };
    const rows = rules.includes(refundEnds)
      ? await rowsOf<RefundedRow>(service, refundedQuery({ ...of, asOf }))
      : [];
    const refunds = grouped(rows, ({ account }) => account);
    readAt.push((account, changes) => ({
      account: accountStateAt(changes, clickhouseTime(at)),
      rateOf: (original) => service.rates.quote(original, currency, at)?.rate ?? null,
      refunded: new Set(refunds.get(account)?.map(({ external_id: sku }) => sku)),
    }));
  }
  for await (const slice of slices(service, of)) {
    await inTurns(
      grouped(slice, ({ account }) => account),
      ([account, changes]) => {
        const readings = readAt.map((read) => read(account, changes));
        take({ account, provider: changes[0]?.provider ?? "", readings });
      },
    );
  }
}

async function checkSize(service: Store, of: AccountsCompared): Promise<void> {
  const [row] = await rowsOf<{ readonly changes: string }>(service, changesCountQuery(of));
  if (Number(row?.changes ?? 0) <= limits.comparedChangesMax) return;
  throw unprocessable(
    "comparison_too_large",
    `More than ${limits.comparedChangesMax} changes of subscriptions would have to be read. ` +
      "Ask for one provider, or for an earlier moment.",
    "provider",
  );
}

async function* slices(
  service: Store,
  of: AccountsCompared,
): AsyncGenerator<readonly ComparedChange[]> {
  let after: string | null = "";
  while (after !== null) {
    const query = sliceEndQuery(of, after, limits.comparedSliceRows);
    const [end] = await rowsOf<{ readonly account: string }>(service, query);
    const upTo: string | null = end?.account ?? null;
    yield await rowsOf<ComparedChange>(service, changesQuery(of, { after, upTo }));
    after = upTo;
  }
}

function largestFirst(one: ComparedAccount, other: ComparedAccount): number {
  return (
    compare(sizeOf(other.difference), sizeOf(one.difference)) || compare(one.account, other.account)
  );
}

function sizeOf(mrr: bigint): bigint {
  return mrr < 0n ? -mrr : mrr;
}
