/**
 * Prints revenue by currency and MRR from the public topics (docs/topics.md).
 *
 *     npm ci
 *     KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:3000 node revenue.js
 */
import { parseArgs } from "node:util";
import { SchemaRegistry } from "@kafkajs/confluent-schema-registry";
import kafkajs from "kafkajs";
import lz4 from "lz4-napi";

const transactionsTopic = "revenue.transactions";
const movementsTopic = "revenue.mrr-movements";

/** Decimals of a currency's minor unit (ISO 4217), where they are not 2. */
const decimals = new Map([
  ..."BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
    .split(" ")
    .map((code) => [code, 0]),
  ..."BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3]),
]);

const { values: wanted } = parseArgs({
  options: {
    workspace: { type: "string" },
    environment: { type: "string", default: "live" },
    messages: { type: "string", default: "0" },
    seconds: { type: "string", default: "10" },
  },
});

const { KAFKA_BROKERS = "localhost:9092", SCHEMA_REGISTRY_URL = "http://localhost:3000" } =
  process.env;

// kafkajs itself reads gzip only; batches are compressed with LZ4.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: ({ buffer }) => lz4.compressFrame(buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});

// Any id can come: the registry is asked once for each, and the answer is kept.
const registry = new SchemaRegistry({ host: SCHEMA_REGISTRY_URL });
const kafka = new kafkajs.Kafka({
  clientId: "revenue-example",
  brokers: KAFKA_BROKERS.split(","),
  logLevel: kafkajs.logLevel.ERROR,
});

/** The newest version of each transaction, by id. */
const transactions = new Map();
/** Each movement once, by id. */
const movements = new Map();

await readMessages(Number(wanted.messages), Number(wanted.seconds), async (topic, value) => {
  const record = await registry.decode(value);
  if (record.environment !== wanted.environment) return;
  if (wanted.workspace !== undefined && record.workspace !== wanted.workspace) return;
  if (topic === movementsTopic) movements.set(record.id, record);
  // A repeat, or an older version after a newer one, changes nothing.
  else if (record.version >= (transactions.get(record.id)?.version ?? 0)) {
    transactions.set(record.id, record);
  }
});
// What is dated ahead is not so yet: the price after a discount's announced end, say.
const now = Date.now();
printRevenue([...transactions.values()].filter(({ timestamp }) => timestamp <= now));
printMrr([...movements.values()].filter(({ at }) => at <= now));

/** From the oldest message kept on. Nothing is committed: each run begins there again. */
async function readMessages(countMax, secondsMax, handle) {
  const consumer = kafka.consumer({ groupId: "revenue-example-node" });
  await consumer.connect();
  await consumer.subscribe({ topics: [transactionsTopic, movementsTopic], fromBeginning: true });
  let count = 0;
  await new Promise((resolve, reject) => {
    setTimeout(resolve, secondsMax * 1000).unref();
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    const eachMessage = async ({ topic, message }) => {
      await handle(topic, message.value);
      count += 1;
      if (count === countMax) resolve();
    };
    consumer.run({ autoCommit: false, eachMessage }).catch(reject);
  });
  await consumer.disconnect();
}

function printRevenue(records) {
  const sums = new Map();
  for (const record of records) {
    const { original_currency: currency, base_currency: base } = record;
    const sum = sums.get(`${currency} ${base}`) ?? {
      currency,
      base,
      sold: 0n,
      refunded: 0n,
      inBase: 0n,
    };
    sums.set(`${currency} ${base}`, sum);
    // A refund that names no sale is a transaction of its own: nothing was sold by it.
    if (record.type !== "refund") {
      sum.sold += BigInt(record.gross_amount);
      sum.inBase += BigInt(record.normalized_amount);
    }
    sum.refunded += BigInt(record.refunded_amount);
  }
  for (const [, sum] of [...sums].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { currency, base, sold, refunded, inBase } = sum;
    console.log(
      `${currency} sold ${major(sold, currency)} refunded ${major(refunded, currency)}` +
        ` sold in ${base} ${major(inBase, base)}`,
    );
  }
}

function printMrr(records) {
  const micros = new Map();
  for (const { base_currency: base, mrr } of records) {
    micros.set(base, (micros.get(base) ?? 0n) + microsOf(mrr));
  }
  for (const [base, sum] of micros) console.log(`MRR ${base} ${decimal(sum, 6)}`);
}

/** Exact: amounts are integers of the minor unit, below 2^53. */
function major(minor, currency) {
  return decimal(minor, decimals.get(currency) ?? 2);
}

function decimal(units, places) {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
  const point = digits.length - places;
  const sign = units < 0n ? "-" : "";
  return sign + (places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`);
}

/** `-12.5` is -12,500,000: MRR has up to 6 places. */
function microsOf(text) {
  const [, sign, whole, places = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text);
  return BigInt(`${sign}${whole}${places.padEnd(6, "0")}`);
}
