/** What the endpoint and normalizing write down, for tests that begin there. */
import {
  type Fact,
  type FactBody,
  type RawEventMeta,
  type TransactionRecord,
  factRecords,
  topics,
} from "../../schemas/records/records.js";
import type { LogRecord } from "../../stores/log/log.js";
import { factKey } from "../../processors/normalize/facts.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";

/** @param given all that a test depends on */
export function metaOf(given: Partial<RawEventMeta>): RawEventMeta {
  return {
    event_id: "e",
    workspace: "w",
    environment: "live",
    provider: "stripe",
    integration: null,
    form: "webhook",
    native_id: "n",
    native_type: "t",
    received_at: 0,
    verdict: "signature",
    rates_edition: 1,
    ...given,
  };
}

/** @param given all that a test depends on */
export function factOf(body: FactBody, given: Partial<Omit<Fact, "body">>): Fact {
  return {
    fact_id: "f",
    event_id: "e",
    workspace: "w",
    environment: "live",
    provider: "stripe",
    partition: 0,
    offset: 0n,
    native_type: "",
    received_at: 0,
    happened_at: 0,
    base_currency: "EUR",
    replay: false,
    backfill: false,
    quote: null,
    ...given,
    body,
  };
}

/** As it is published. @param given all that a test depends on */
export function transactionOf(given: Partial<TransactionRecord>): TransactionRecord {
  return {
    id: "tx",
    version: 1,
    workspace: "",
    environment: "live",
    provider: "stripe",
    external_id: "prod_a",
    product_name: "Pro",
    gross_amount: 1_999n,
    original_currency: "USD",
    normalized_amount: 1_830n,
    base_currency: "EUR",
    fx_rate: "0.9155",
    fx_date: "2026-10-30",
    fx_source: "ecb",
    refunded_amount: 0n,
    tax_amount: null,
    fee_amount: null,
    customer_country: "US",
    account: "",
    type: "one_time",
    status: "succeeded",
    timestamp: Date.UTC(2026, 10, 1),
    recorded_at: Date.UTC(2026, 10, 1),
    event_id: "evt",
    backfill: false,
    first: true,
    ...given,
  };
}

/** In place of the installation's own hash, which needs its stores. */
export const inClear: HashAccount = (...parts) => parts.join("/");

/** As they lie on the facts topic. @param first offset of the first one */
export function recordsOf(facts: readonly Fact[], first = 0n): LogRecord[] {
  return facts.map((fact, index) => ({
    topic: topics.facts,
    partition: 0,
    offset: first + BigInt(index),
    key: factKey(fact, inClear),
    value: factRecords.encode(fact),
  }));
}
