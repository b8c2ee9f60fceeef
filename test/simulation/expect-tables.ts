/** What the tables in memory have to hold, whatever failed on the way: the model's figures. */
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { expectLines } from "../model/compare/lines.js";
import { shownMinor } from "../model/compare/showing.js";
import type { Figures } from "../model/figures.js";
import type { MemoryTables, Row } from "./memory-stores.js";

/** @param knownAt ms since 1970: what was recorded up to then */
export function expectTables(
  tables: MemoryTables,
  figures: Figures,
  base: string,
  knownAt = Infinity,
): void {
  const isKnown = ({ environment, recorded_at: at = "" }: Row): boolean =>
    environment === "live" && fromClickhouseTime(at) <= knownAt;
  expectLines(
    "transactions",
    newestVersions(tables.all("transactions").filter(isKnown)).map((row) => ({
      provider: row["provider"],
      external_id: row["external_id"],
      gross_amount: shownMinor(BigInt(row["gross_amount"] ?? ""), row["original_currency"] ?? ""),
      original_currency: row["original_currency"],
      normalized_amount: shownMinor(BigInt(row["normalized_amount"] ?? ""), base),
      fx_rate: Number(row["fx_rate"]),
      customer_country: row["customer_country"],
      type: row["type"],
      status: row["status"],
      refunded_amount: shownMinor(
        BigInt(row["refunded_amount"] ?? ""),
        row["original_currency"] ?? "",
      ),
      timestamp: timeOf(row["timestamp"]),
    })),
    figures.transactions(Infinity),
  );
  const ledger = sumsOf(tables.all("ledger").filter(isKnown), (row) => ({
    place: [row["provider"], row["external_id"], row["currency"], row["country"]],
    at: timeOf(row["happened_at"]),
    amounts: [row["amount"], row["tax"], row["fee"], row["sales"]].map((text) =>
      BigInt(text ?? ""),
    ),
  }));
  const entries = sumsOf(figures.entries, (entry) => ({
    place: [entry.provider, entry.sku, entry.currency, entry.country],
    at: new Date(entry.at).toISOString(),
    amounts: [entry.amount, entry.tax, entry.fee ?? 0n, BigInt(entry.sales)],
  }));
  expectLines("ledger", ledger, entries);
  const movements = sumsOf(tables.all("mrr_movements").filter(isKnown), (row) => ({
    place: [row["provider"], row["kind"]],
    at: timeOf(row["at"]),
    amounts: [mrrOf(row["mrr"] ?? ""), BigInt(row["accounts"] ?? "")],
  }));
  const moved = sumsOf(figures.movements, (movement) => ({
    place: [movement.provider, movement.kind],
    at: new Date(movement.at).toISOString(),
    amounts: [movement.micros, BigInt(movement.accounts)],
  }));
  expectLines("movements", movements, moved);
}

/** By id, as the list of transactions chooses. */
export function newestVersions(rows: readonly Row[]): Row[] {
  const orderOf = ({ recorded_at: at = "", fact_id: fact = "", version = "" }: Row): string =>
    [at, fact, version.padStart(10, "0")].join("\t");
  const newest = new Map<string, Row>();
  for (const row of rows) {
    const known = newest.get(row["id"] ?? "");
    if (known === undefined || orderOf(known) < orderOf(row)) newest.set(row["id"] ?? "", row);
  }
  return [...newest.values()];
}

interface Addend {
  readonly place: readonly (string | undefined)[];
  readonly at: string;
  readonly amounts: readonly bigint[];
}

/** A line for each place and moment, without those whose sums are all zero. */
function sumsOf<T>(all: readonly T[], addendOf: (one: T) => Addend): string[] {
  const sums = new Map<string, readonly bigint[]>();
  for (const one of all) {
    const { place, at, amounts } = addendOf(one);
    const name = [at, ...place].join(" ");
    const before = sums.get(name) ?? [];
    sums.set(
      name,
      amounts.map((amount, index) => amount + (before[index] ?? 0n)),
    );
  }
  return [...sums]
    .filter(([, amounts]) => amounts.some((amount) => amount !== 0n))
    .map(([name, amounts]) => `${name}: ${amounts.join(" ")}`);
}

function timeOf(text = ""): string {
  return new Date(fromClickhouseTime(text)).toISOString();
}
