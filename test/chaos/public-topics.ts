/** The public topics against the tables: repeats are equal, and nothing is missing. */
import type { ClickHouse } from "../../backends/clickhouse.js";
import type { Log } from "../../backends/log.js";
import { movementCodec, topics, transactionCodec } from "../../schemas/records.js";
import { recordsOf } from "./raw-events.js";

export interface PublicTopics {
  readonly messages: number;
  readonly repeats: number;
  /** One line for each that is not as it should be. */
  readonly wrong: readonly string[];
}

/** @param log whose public topics are read as bodies of the newest schema */
export async function checkPublicTopics(log: Log, clickhouse: ClickHouse): Promise<PublicTopics> {
  const transactions = new Contents();
  const newest = new Map<string, number>();
  for await (const { value } of recordsOf(log, topics.transactions)) {
    // The name of a product is told as it was known when the message was written.
    const told = { ...transactionCodec.decode(value), product_name: "" };
    transactions.add(`${told.id} version ${told.version}`, transactionCodec.toText(told));
    newest.set(told.id, Math.max(told.version, newest.get(told.id) ?? 0));
  }
  const movements = new Contents();
  const sums = new Map<string, bigint>();
  for await (const { value } of recordsOf(log, topics.movements)) {
    const told = movementCodec.decode(value);
    if (!movements.add(told.id, movementCodec.toText(told))) continue;
    const place = `${told.workspace} ${told.environment} ${told.provider}`;
    sums.set(place, (sums.get(place) ?? 0n) + micros(told.mrr));
  }
  return {
    messages: transactions.messages + movements.messages,
    repeats: transactions.repeats + movements.repeats,
    wrong: [
      ...transactions.wrong,
      ...movements.wrong,
      ...(await missingVersions(clickhouse, newest)),
      ...(await otherSums(clickhouse, sums)),
    ],
  };
}

/** Of each key one content, however often it is told. */
class Contents {
  messages = 0;
  repeats = 0;
  readonly wrong: string[] = [];
  readonly #known = new Map<string, string>();

  /** @returns whether it is told for the first time */
  add(key: string, told: string): boolean {
    this.messages += 1;
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, told);
      return true;
    }
    this.repeats += 1;
    if (known !== told) this.wrong.push(`${key} is told as ${known} and as ${told}`);
    return false;
  }
}

async function missingVersions(
  clickhouse: ClickHouse,
  newest: ReadonlyMap<string, number>,
): Promise<string[]> {
  const rows = await clickhouse.rows<{ id: string; newest: string }>(
    "SELECT id, toString(max(version)) AS newest FROM transactions GROUP BY id",
  );
  return rows
    .filter((row) => newest.get(row.id) !== Number(row.newest))
    .map(
      (row) => `${row.id}: version ${row.newest} is on record, ${newest.get(row.id)} on the topic`,
    );
}

async function otherSums(
  clickhouse: ClickHouse,
  sums: ReadonlyMap<string, bigint>,
): Promise<string[]> {
  const rows = await clickhouse.rows<{ place: string; micros: string }>(
    `SELECT concat(workspace, ' ', environment, ' ', provider) AS place,
            toString(toInt128(sum(mrr) * 1000000)) AS micros
     FROM mrr_movements GROUP BY place`,
  );
  return rows
    .filter((row) => (sums.get(row.place) ?? 0n) !== BigInt(row.micros))
    .map(
      (row) =>
        `${row.place}: MRR ${row.micros} micros on record, ${sums.get(row.place)} on the topic`,
    );
}

/** Millionths of a decimal text with up to six places. */
function micros(decimal: string): bigint {
  const [whole = "", places = ""] = decimal.replace("-", "").split(".");
  const units = BigInt(whole + places.padEnd(6, "0"));
  return decimal.startsWith("-") ? -units : units;
}
