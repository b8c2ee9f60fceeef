/** Everything a merchant can read, to hold one installation against another. */
import { expect } from "chai";
import { at, list, text } from "../readers/json.js";
import { type Merchant, read, readPages } from "../merchant.js";
import { until } from "../../harness/promises.js";

/** Moments to ask for: `at`, and `known_at` where it is reported. */
export interface Clocks {
  readonly at: string;
  readonly known_at?: string;
}

/** Transactions opened down to their events; the lists themselves are whole. */
const openedMax = 10;

/** By question: the answer's data, without what reports the time of asking. */
export async function answersOf(
  merchant: Merchant,
  clocks: readonly Clocks[],
): Promise<ReadonlyMap<string, unknown>> {
  const answers = new Map<string, unknown>();
  const ask = async (path: string, query: Readonly<Record<string, string>> = {}) => {
    const data = at(await read(merchant, path, query), "data");
    answers.set(`${path} ${JSON.stringify(query)}`, data);
    return data;
  };
  for (const { at: moment, known_at: knownAt } of clocks) {
    const clock = { at: moment, ...(knownAt === undefined ? {} : { known_at: knownAt }) };
    for (const path of ["mrr", "cohorts", "summary", "revenue", "mrr/movements"]) {
      await ask(`/v1/metrics/${path}`, clock);
    }
    for (const path of ["/v1/transactions", "/v1/products"]) {
      const query = path === "/v1/products" ? { ...clock, period: "lifetime" } : clock;
      answers.set(`${path} ${JSON.stringify(query)}`, await readPages(merchant, path, query));
    }
    if (knownAt === undefined) continue;
    const query = { from_known_at: knownAt, at: moment };
    answers.set("changes", await readPages(merchant, "/v1/metrics/mrr/changes", query));
  }
  const transactions = await readPages(merchant, "/v1/transactions", {});
  for (const row of transactions.slice(0, openedMax)) {
    const path = `/v1/transactions/${text(row, "id")}`;
    const entries = list(await read(merchant, path), "data", "ledger");
    for (const entry of entries) expect(text(entry, "booked_at")).to.not.equal("");
    const events = new Set(entries.map((entry) => text(entry, "event_id")));
    expect(events.size, "events behind a transaction").to.be.greaterThan(0);
    for (const event of events) await until(() => isJournaled(merchant, event));
    await ask(path);
    for (const event of events) await ask(`/v1/events/${event}`);
  }
  return answers;
}

/** The journal is written some seconds after the figures (journalPace, processors/role.ts). */
async function isJournaled(merchant: Merchant, event: string | null): Promise<boolean> {
  const deliveries = list(await read(merchant, `/v1/events/${event}`), "data", "deliveries");
  return deliveries.every((delivery) => text(delivery, "outcome") !== null);
}

export function expectSameAnswers(
  found: ReadonlyMap<string, unknown>,
  expected: ReadonlyMap<string, unknown>,
): void {
  expect([...found.keys()]).to.deep.equal([...expected.keys()]);
  for (const [asked, answer] of expected) expect(found.get(asked), asked).to.deep.equal(answer);
}
