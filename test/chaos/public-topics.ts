/** The public topics against the tables: repeats are equal, and nothing is missing. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import type { Log } from "../../log/log.js";
import {
  movementCodec,
  topics,
  transactionCodec,
  type TransactionRecord,
} from "../../schemas/records/records.js";
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
  const newest = new Map<string, TransactionRecord>();
  for await (const { value } of recordsOf(log, topics.transactions)) {
    // The name of a product is told as it was known when the message was written.
    const told = { ...transactionCodec.decode(value), product_name: "" };
    transactions.add(`${told.id} version ${told.version}`, transactionCodec.toText(told));
    const known = newest.get(told.id);
    // The rule of docs/topics.md for whoever keeps the newest.
    if (known === undefined || known.version <= told.version) newest.set(told.id, told);
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
      ...(await otherDocuments(clickhouse, newest)),
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

/** What a version tells a customer; numbers whose document is the same may be left out. */
interface Shown {
  readonly id: string;
  readonly external_id: string;
  readonly gross_amount: string;
  readonly normalized_amount: string;
  readonly refunded_amount: string;
  readonly tax_amount: string | null;
  readonly fee_amount: string | null;
  readonly customer_country: string;
  readonly account: string;
  readonly type: string;
  readonly status: string;
}

async function otherDocuments(
  clickhouse: ClickHouse,
  newest: ReadonlyMap<string, TransactionRecord>,
): Promise<string[]> {
  const rows = await clickhouse.rows<Shown>(
    `SELECT id, external_id, toString(gross_amount) AS gross_amount,
            toString(normalized_amount) AS normalized_amount,
            toString(refunded_amount) AS refunded_amount, toString(tax_amount) AS tax_amount,
            toString(fee_amount) AS fee_amount, customer_country, account, type, status
     FROM transactions ORDER BY recorded_at DESC, fact_id DESC, version DESC
     LIMIT 1 BY workspace, environment, id`,
  );
  return rows.flatMap((row) => {
    const told = newest.get(row.id);
    const [is, should] = [told === undefined ? "nothing" : textOf(shown(told)), textOf(row)];
    return is === should ? [] : [`${row.id}: on record ${should}, on the topic ${is}`];
  });
}

function shown(told: TransactionRecord): Shown {
  return {
    id: told.id,
    external_id: told.external_id,
    gross_amount: told.gross_amount.toString(),
    normalized_amount: told.normalized_amount.toString(),
    refunded_amount: told.refunded_amount.toString(),
    tax_amount: told.tax_amount?.toString() ?? null,
    fee_amount: told.fee_amount?.toString() ?? null,
    customer_country: told.customer_country,
    account: told.account,
    type: told.type,
    status: told.status,
  };
}

function textOf(document: Shown): string {
  return JSON.stringify(Object.entries(document).toSorted(([a], [b]) => (a < b ? -1 : 1)));
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
