/** The public topics against the tables: repeats are equal, and nothing is missing. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
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
    const message = transactionCodec.decode(value);
    // Two fields are of the moment of publication: the name of the product as it was known then,
    // and `first`. A cut connection can duplicate facts; their message is then published again,
    // no longer as the first.
    const reported = { ...message, product_name: "", first: false };
    if (!newest.has(reported.id) && !message.first) {
      transactions.wrong.push(`${reported.id} has a message before the one that says it is first`);
    }
    transactions.add(
      `${reported.id} version ${reported.version}`,
      transactionCodec.toText(reported),
    );
    const known = newest.get(reported.id);
    // The rule of docs/topics.md for whoever keeps the newest.
    if (known === undefined || known.version <= reported.version) newest.set(reported.id, reported);
  }
  const movements = new Contents();
  const sums = new Map<string, bigint>();
  for await (const { value } of recordsOf(log, topics.movements)) {
    const reported = movementCodec.decode(value);
    if (!movements.add(reported.id, movementCodec.toText(reported))) continue;
    const place = `${reported.workspace} ${reported.environment} ${reported.provider}`;
    sums.set(place, (sums.get(place) ?? 0n) + micros(reported.mrr));
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

/** Of each key one content, however often it is reported. */
class Contents {
  messages = 0;
  repeats = 0;
  readonly wrong: string[] = [];
  readonly #known = new Map<string, string>();

  /** @returns whether it is reported for the first time */
  add(key: string, reported: string): boolean {
    this.messages += 1;
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, reported);
      return true;
    }
    this.repeats += 1;
    if (known !== reported) this.wrong.push(`${key} is reported as ${known} and as ${reported}`);
    return false;
  }
}

/** What a version reports a customer; numbers whose document is the same may be left out. */
const words = ["id", "external_id", "customer_country", "account", "type", "status"] as const;
const amounts = [
  ...(["gross_amount", "normalized_amount", "refunded_amount"] as const),
  ...(["tax_amount", "fee_amount"] as const),
];

const columns = [...words, ...amounts];
type Shown = Readonly<Record<(typeof columns)[number], string | bigint | null>>;

async function otherDocuments(
  clickhouse: ClickHouse,
  newest: ReadonlyMap<string, TransactionRecord>,
): Promise<string[]> {
  const texts = amounts.map((name) => `toString(${name}) AS ${name}`);
  const rows = await clickhouse.rows<Shown & { readonly id: string }>(
    `SELECT ${[...words, ...texts].join(", ")}
     FROM transactions ORDER BY recorded_at DESC, fact_id DESC, version DESC
     LIMIT 1 BY workspace, environment, id`,
  );
  return rows.flatMap((row) => {
    const reported = newest.get(row.id);
    const [is, should] = [reported === undefined ? "nothing" : textOf(reported), textOf(row)];
    return is === should ? [] : [`${row.id}: on record ${should}, on the topic ${is}`];
  });
}

function textOf(document: Shown): string {
  return JSON.stringify(columns.map((name) => [name, document[name]?.toString() ?? null]));
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
