/**
 * Messages about payments whose invoice is on its way. What was bought comes by another event,
 * often in the same second, so a message that cannot name it waits a moment for the next one.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { MoneyOutcome } from "./money-tables.js";

/** After the receipt of the payment: people see a transaction within 250 ms. */
const invoiceWaitMs = 180;

export class HeldMessages {
  /** By transaction. */
  readonly #waiting = new Map<string, AbortController>();

  constructor(private readonly waitMs = invoiceWaitMs) {}

  /** How long what is to be published waits for its invoice; 0: not at all. */
  waitMsOf({ payment, versions, published }: MoneyOutcome): number {
    const [first, last] = [versions[0], published.at(-1)];
    if (first === undefined || last === undefined) return 0;
    const { document, fact } = last;
    const isUnnamed = document.external_id === "" && document.type === "one_time";
    if (!isUnnamed || fact.backfill || fact.replay) return 0;
    const isInvoiced = payment.facts.some(
      ({ body }) => "Payment" in body && body.Payment.invoiced === true,
    );
    return isInvoiced ? Math.max(0, first.fact.received_at + this.waitMs - Date.now()) : 0;
  }

  /** @returns false when a newer message about the transaction came meanwhile */
  async hold(transaction: string, ms: number): Promise<boolean> {
    const newer = new AbortController();
    this.#waiting.set(transaction, newer);
    await pause(ms, undefined, { signal: newer.signal }).catch(() => undefined);
    if (this.#waiting.get(transaction) === newer) this.#waiting.delete(transaction);
    return !newer.signal.aborted;
  }

  /** To be called for every message: those before it about the transaction need not be sent. */
  replace(transaction: string): void {
    this.#waiting.get(transaction)?.abort();
  }
}
