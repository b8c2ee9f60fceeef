/**
 * Brings the tables to what the state says of the payments and accounts of some facts: in a replay,
 * which restores lost rows, and for facts that an earlier state may have booked in part. It
 * compares first, so it may be repeated.
 */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import { grouped, mapInTurns } from "../../runtime/lists.js";
import type { Fact } from "../../schemas/records/records.js";
import { matterOf } from "../normalize/facts.js";
import { addFacts } from "./money/known-facts.js";
import { insertFacts, insertLedger, insertVersions } from "./money/money-tables.js";
import { paymentVersions } from "./payment/payment-versions.js";
import { pools, type Lists } from "./lists.js";
import { type AccountName, Accounts, nameOfAccount } from "./subscriptions/accounts.js";
import { insertChanges, subscriptionChange, countryChange } from "./subscriptions/changes.js";
import { recordMovements } from "./subscriptions/movements.js";
import { insertSides, nameOfPool, sideOf } from "./subscriptions/pools.js";

interface Stores {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "shared">;
}

/** @param facts that are booked. Nothing else may book them meanwhile. */
export async function repairTables(
  { clickhouse, log }: Stores,
  lists: Lists,
  facts: readonly Fact[],
): Promise<void> {
  const shared = log.shared || clickhouse.isShared;
  const money = facts.filter(({ body }) => matterOf(body) === "money");
  const { payments } = await addFacts(lists, money);
  const known = new Map(payments.flatMap((one) => one.facts).map((fact) => [fact.fact_id, fact]));
  await insertFacts(clickhouse, [...known.values()]);
  const recorded = await mapInTurns(payments, (payment) => {
    const { versions, ledger } = paymentVersions(payment.payment, payment.facts);
    return { payment, ledger, versions: versions.filter(({ changed }) => changed) };
  });
  await insertVersions(clickhouse, recorded);
  await insertLedger(clickhouse, recorded, shared);

  const accounts = new Accounts(lists);
  const names = await touchedAccounts(clickhouse, lists, facts);
  await accounts.load(names);
  await insertChanges(
    clickhouse,
    names.flatMap((name) => accounts.changesOf(name)),
  );
  await recordMovements(clickhouse, names, shared);
}

async function touchedAccounts(
  clickhouse: ClickHouse,
  lists: Lists,
  facts: readonly Fact[],
): Promise<AccountName[]> {
  const names = new Map<string, AccountName>();
  const add = (name: AccountName): void => void names.set(nameOfAccount(name), name);
  for (const fact of facts) {
    const change = subscriptionChange(fact) ?? countryChange(fact);
    if (change !== null) add(change);
  }
  const byPool = grouped(facts.flatMap(sideOf), nameOfPool);
  await lists.load(pools, byPool.keys());
  for (const [name, [side]] of byPool) {
    const items = lists.of(pools, name);
    const sides = items.flatMap((item) => ("side" in item ? item.side : []));
    await insertSides(clickhouse, sides);
    for (const item of items) if ("end" in item && side) add({ ...side, ...item.end });
  }
  return [...names.values()];
}
