/** The statements that write money. Each inserts only what is missing. */
import { clickhouseTime, matching } from "../../../stores/clickhouse/rows.js";
import { allShards } from "../../../stores/clickhouse/cluster/shard-statements.js";
import { jsonRows, literal, partsOf } from "../../../stores/clickhouse/sql-text.js";
import type { ClickHouse, WriteLane } from "../../../stores/clickhouse/clickhouse.js";
import { chunksBySize, grouped } from "../../../runtime/lists.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import { transactionId } from "../../../schemas/ids.js";
import { type Environment, type Fact, factCodec } from "../../../schemas/records/records.js";
import { subjects } from "../../normalize/facts.js";
import type { LedgerRow, PaymentVersions, Reported, Version } from "../payment/payment-versions.js";

export interface PaymentName {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  /** The provider's id of it. */
  readonly payment: string;
}

export interface KnownPayment extends PaymentName {
  /** Of the payment and of the purchases linked to it, in order of receipt, each once. */
  readonly facts: readonly Fact[];
  /** How many facts each key had when it was read: if there are more by now, this view is old. */
  readonly keys: ReadonlyMap<string, number>;
}

interface RecordedPayment extends PaymentVersions {
  readonly payment: KnownPayment;
}

export interface MoneyOutcome extends Reported {
  readonly payment: KnownPayment;
  /** Facts of the batch that exceed its limits. */
  readonly refused: readonly Fact[];
  /** Versions that the table may lack. */
  readonly inserted: readonly Version[];
  readonly published: readonly Version[];
  /** No version of it was published before the batch. */
  readonly isFirst: boolean;
}

export const factColumns =
  "workspace String, environment String, provider String, key String, fact_id String, " +
  "event_id String, received_at DateTime64(3, 'UTC'), fact String";

/** One row under each key a fact can be looked for by. */
export function factRows(facts: readonly Fact[]) {
  return facts.flatMap((fact) =>
    subjects(fact.body).map((key) => ({
      workspace: fact.workspace,
      environment: fact.environment,
      provider: fact.provider,
      key,
      fact_id: fact.fact_id,
      event_id: fact.event_id,
      received_at: clickhouseTime(fact.received_at),
      fact: factCodec.toText(fact),
    })),
  );
}

export async function insertFacts(clickhouse: ClickHouse, facts: readonly Fact[]): Promise<void> {
  const identity = "workspace, environment, provider, key, fact_id";
  for (const part of partsOf(factColumns, factRows(facts))) {
    await clickhouse.write(
      `INSERT INTO money_facts SELECT * FROM ${part.table}
       WHERE (${identity}) NOT IN (
         SELECT ${identity} FROM money_facts
         WHERE ${matching(part.rows, "workspace", "environment", "provider", "key")})`,
      {},
      "facts",
    );
  }
}

export const ledgerDimensions = [
  "workspace",
  "environment",
  "payment",
  "entry",
  "kind",
  "provider",
  "external_id",
  "currency",
  "country",
  "happened_at",
  "recorded_at",
  "event_id",
  "fact_id",
] as const;
export const ledgerColumns =
  "workspace String, environment String, payment String, entry String, kind String, " +
  "provider String, external_id String, currency String, country String, " +
  "happened_at DateTime64(3, 'UTC'), recorded_at DateTime64(3, 'UTC'), event_id String, " +
  "fact_id String, original_amount Int64, amount Int64, tax Int64, fee Int64, sales Int32";

/**
 * *Should be recorded minus is recorded*, row by row.
 * @param shared other writers may know more by now: payments with more facts than were seen are
 *   left out
 */
export async function insertLedger(
  clickhouse: ClickHouse,
  outcomes: readonly RecordedPayment[],
  shared: boolean,
): Promise<void> {
  for (const part of chunksBySize(outcomes.flatMap(stretchesOf), rowsMax, sizeOf)) {
    await insertLedgerPart(clickhouse, part, shared);
  }
}

const rowsMax = 20_000;

/** Rows of one payment, and the part of the table that should equal them. */
interface LedgerStretch {
  readonly outcome: RecordedPayment;
  readonly ledger: readonly LedgerRow[];
  /**
   * For a payment with more rows than a statement takes, which has statements of its own; null:
   * all.
   */
  readonly within: string | null;
}

function sizeOf({ ledger, within }: LedgerStretch): number {
  return within === null ? ledger.length : rowsMax + 1;
}

/** By fact and entry, so that all rows of a payment lie in one of its stretches. */
function stretchesOf(outcome: RecordedPayment): LedgerStretch[] {
  const { ledger } = outcome;
  if (ledger.length <= rowsMax) return [{ outcome, ledger, within: null }];
  const places = grouped(ledger, (row) => `${row.fact.fact_id} ${row.entry}`);
  // In the order of bytes, which is the engine's.
  const inOrder = Array.from(places, ([place, rows]) => ({
    place,
    bytes: Buffer.from(place),
    rows,
  }));
  inOrder.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const parts = [...chunksBySize(inOrder, rowsMax, ({ rows }) => rows.length)];
  return parts.map((part, index) => {
    const after = parts[index - 1]?.at(-1)?.place;
    const upTo = index === parts.length - 1 ? undefined : part.at(-1)?.place;
    const ends = [
      ...(after === undefined ? [] : [`${placeSql} > ${literal(after)}`]),
      ...(upTo === undefined ? [] : [`${placeSql} <= ${literal(upTo)}`]),
    ];
    const rows = part.flatMap((group) => group.rows);
    return { outcome, ledger: rows, within: ends.join(" AND ") };
  });
}

const placeSql = "concat(fact_id, ' ', entry)";

async function insertLedgerPart(
  clickhouse: ClickHouse,
  part: readonly LedgerStretch[],
  shared: boolean,
): Promise<void> {
  const outcomes = part.map(({ outcome }) => outcome);
  const rows = part.flatMap(({ outcome, ledger }) => ledgerRows(outcome.payment, ledger));
  const payments = outcomes.map(({ payment }) => {
    return { ...payment, payment: ledgerPayment(payment) };
  });
  const inPayments = matching(payments, "workspace", "environment", "payment");
  const within = part.map((stretch) => stretch.within).find((ends) => ends !== null);
  const dimensions = ledgerDimensions.join(", ");
  await clickhouse.write(
    `INSERT INTO ledger
     SELECT ${dimensions}, sum(o) AS original_amount, sum(a) AS amount, sum(t) AS tax,
            sum(f) AS fee,
            toInt32(sum(s)) AS sales, ${bookedNow}
     FROM (
       SELECT ${dimensions}, original_amount AS o, amount AS a, tax AS t, fee AS f, sales AS s
       FROM ${jsonRows(ledgerColumns, rows)}
       UNION ALL
       SELECT ${dimensions}, -original_amount, -amount, -tax, -fee, -sales
       FROM ledger WHERE ${inPayments}${within === undefined ? "" : ` AND ${within}`}
     )
     ${shared ? `WHERE (workspace, environment, payment) NOT IN (${outdated(outcomes)})` : ""}
     GROUP BY ${dimensions}
     HAVING original_amount != 0 OR amount != 0 OR tax != 0 OR fee != 0 OR sales != 0`,
    {},
    "money",
  );
}

export function ledgerRows(payment: PaymentName, ledger: readonly LedgerRow[]) {
  return ledger.map((row) => ({
    workspace: payment.workspace,
    environment: payment.environment,
    provider: payment.provider,
    payment: ledgerPayment(payment),
    recorded_at: clickhouseTime(row.fact.received_at),
    event_id: row.fact.event_id,
    fact_id: row.fact.fact_id,
    ...row,
    happened_at: clickhouseTime(row.happened_at),
  }));
}

function outdated(outcomes: readonly RecordedPayment[]): string {
  const seen = outcomes.flatMap(({ payment }) =>
    [...payment.keys].map(([key, facts]) => ({
      workspace: payment.workspace,
      environment: payment.environment,
      provider: payment.provider,
      payment: ledgerPayment(payment),
      key,
      facts,
    })),
  );
  const inKeys = matching(seen, "workspace", "environment", "provider", "key");
  const scope = "workspace, environment, provider, key";
  return `
    SELECT workspace, environment, payment
    FROM ${jsonRows(
      "workspace String, environment String, provider String, payment String, key String, " +
        "facts UInt64",
      seen,
    )} AS seen
    INNER JOIN (
      SELECT ${scope}, uniqExact(fact_id) AS stored FROM ${allShards("money_facts")}
      WHERE ${inKeys} GROUP BY ${scope}
    ) AS now USING (${scope})
    WHERE stored > facts`;
}

export const versionColumns =
  "workspace String, environment String, timestamp DateTime64(3, 'UTC'), id String, " +
  "recorded_at DateTime64(3, 'UTC'), fact_id String, version UInt32, event_id String, " +
  "provider String, payment String, account String, external_id String, gross_amount Int64, " +
  "original_currency String, normalized_amount Int64, base_currency String, fx_rate String, " +
  "fx_date String, fx_source String, refunded_amount Int64, tax_amount Nullable(Int64), " +
  "fee_amount Nullable(Int64), customer_country String, type String, status String, " +
  "backfill UInt8";

export async function insertVersions(
  clickhouse: ClickHouse,
  recorded: readonly RecordedPayment[],
): Promise<void> {
  const all = recorded.flatMap(({ payment, versions }) => versionRows(payment, versions));
  const identity = "workspace, environment, timestamp, id, recorded_at, fact_id, version";
  for (const rows of chunksBySize(all, rowsMax, () => 1)) {
    const inPlaces = matching(rows, "workspace", "environment", "timestamp", "id");
    await clickhouse.write(
      `INSERT INTO transactions
       SELECT *, ${bookedNow} FROM ${jsonRows(versionColumns, rows)}
       WHERE (${identity}) NOT IN (
         SELECT ${identity} FROM transactions WHERE ${inPlaces})`,
      {},
      "versions",
    );
  }
}

export function versionRows(payment: PaymentName, versions: readonly Version[]) {
  return versions.map(({ document, version, fact }) => ({
    workspace: payment.workspace,
    environment: payment.environment,
    id: transactionId(payment.workspace, payment.environment, payment.provider, payment.payment),
    recorded_at: clickhouseTime(fact.received_at),
    fact_id: fact.fact_id,
    version,
    event_id: fact.event_id,
    provider: payment.provider,
    payment: payment.payment,
    backfill: fact.backfill ? 1 : 0,
    ...document,
    timestamp: clickhouseTime(document.timestamp),
  }));
}

/** Inserts rows that an audit found missing, without comparing. */
export async function insertBooked(
  clickhouse: ClickHouse,
  table: "ledger" | "transactions",
  columns: string,
  rows: readonly object[],
  lane: WriteLane,
): Promise<void> {
  for (const part of partsOf(columns, rows)) {
    await clickhouse.write(
      `INSERT INTO ${table} SELECT *, ${bookedNow} FROM ${part.table}`,
      {},
      lane,
    );
  }
}

function ledgerPayment({ provider, payment }: PaymentName): string {
  return `${provider}:${payment}`;
}
