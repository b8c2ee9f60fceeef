/**
 * The rules of money and MRR as tables to proofread: one row per event, what the service answers
 * as of that moment in the last columns. Each table is sent twice to the real service: in order in
 * the old API layout, and backwards in the new one.
 */
import { expect } from "chai";
import { apiVersions, type ApiVersion } from "../../ops/payloads/stripe.js";
import type { ModelEvent } from "../model/facts.js";
import { type Figures, figuresOf } from "../model/figures.js";
import { list, number, text } from "../model/readers/json.js";
import { type Merchant, openMerchant, read, send } from "../model/merchant.js";
import { Script } from "../model/stories/story.js";
import { cell, momentOf, type Row, rowsOf } from "../model/tables/table.js";
import { emitMoney } from "../model/tables/table-money.js";
import { emitRecordRows } from "../model/tables/table-records.js";
import { emitSubscriptions } from "../model/tables/table-subscriptions.js";
import { emitTransfers } from "../model/tables/table-transfers.js";
import { allBooked, openTestService } from "../harness/service.js";

/** How tables reach the service; all are on their way at once, and booked in the same rounds. */
const ways = apiVersions.map((version, index) => ({ version, isBackwards: index > 0 }));
const tables: { readonly rows: readonly Row[]; readonly report: Report }[] = [];
let booked: Promise<readonly (readonly Booked[])[]> | undefined;

type Report = (script: Script, rows: readonly Row[], version: ApiVersion) => void;

interface Booked {
  readonly version: ApiVersion;
  readonly merchant: Merchant;
  readonly figures: Figures;
}

describe("subscriptions", () => {
  mrrTable(
    "should count a trial from its first paid period",
    `
    at               | event   | status   | items       | also                              | mrr
    2025-01-10       | created | trialing | 10.00/month | trial to 2025-01-24               |  0.00
    2025-01-23 12:00 |         |          |             |                                   |  0.00
    2025-01-24       |         |          |             |                                   | 10.00
    2025-01-24 02:00 | updated | active   | 10.00/month | trial to 2025-01-24, was trialing | 10.00
    `,
  );
  mrrTable(
    "should count nothing of a trial that ends without paying",
    `
    at         | event   | status   | items       | also                | mrr
    2025-01-10 | created | trialing | 10.00/month | trial to 2025-01-24 | 0.00
    2025-01-24 | paused  | paused   | 10.00/month | trial to 2025-01-24 | 0.00
    2025-02-24 | deleted | canceled | 10.00/month |                     | 0.00
    `,
  );
  mrrTable(
    "should begin an incomplete subscription when it was created, once it is paid",
    `
    at               | event   | status     | items       | also           | mrr
    2025-01-10       | created | incomplete | 10.00/month |                | 10.00
    2025-01-10 05:00 | updated | active     | 10.00/month | was incomplete | 10.00
    `,
  );
  mrrTable(
    "should count what is past due until the provider says unpaid",
    `
    at         | event   | status   | items       | also         | mrr
    2025-01-10 | created | active   | 10.00/month |              | 10.00
    2025-02-10 | updated | past_due | 10.00/month | was active   | 10.00
    2025-02-20 | updated | unpaid   | 10.00/month | was past_due |  0.00
    2025-03-01 | updated | active   | 10.00/month | was unpaid   | 10.00
    `,
  );
  mrrTable(
    "should count a cancellation at the period's end when the end takes effect",
    `
    at         | event   | status   | items       | also               | mrr
    2025-01-10 | created | active   | 10.00/month |                    | 10.00
    2025-01-20 | updated | active   | 10.00/month | ends at period end | 10.00
    2025-02-10 | deleted | canceled | 10.00/month | ends at period end |  0.00
    `,
  );
  mrrTable(
    "should pause and resume, by status or by collection",
    `
    at         | event   | status | items       | also              | mrr
    2025-01-10 | created | active | 10.00/month |                   | 10.00
    2025-02-01 | paused  | paused | 10.00/month | was active        |  0.00
    2025-03-01 | resumed | active | 10.00/month | was paused        | 10.00
    2025-04-01 | updated | active | 10.00/month | collection paused |  0.00
    2025-05-01 | updated | active | 10.00/month |                   | 10.00
    `,
  );
  mrrTable(
    "should follow quantity, plan and items",
    `
    at         | event   | status | items                           | also | mrr
    2025-01-10 | created | active | 10.00/month                     |      | 10.00
    2025-02-10 | updated | active | 10.00/month x3                  |      | 30.00
    2025-03-10 | updated | active | 25.00/month                     |      | 25.00
    2025-04-10 | updated | active | 25.00/month, 4.00/month x2      |      | 33.00
    2025-05-10 | updated | active | 25.00/month, metered 9.00/month |      | 25.00
    `,
  );
  mrrTable(
    "should bring every interval to a month",
    `
    at         | event   | status | items          | also | mrr
    2025-01-10 | created | active | 120.00/year    |      | 10.00
    2025-01-11 | updated | active | 100.00/year    |      |  8.33
    2025-01-12 | updated | active | 3.00/week      |      | 13.00
    2025-01-13 | updated | active | 1.20/day       |      | 36.50
    2025-01-14 | updated | active | 50.00/3 months |      | 16.67
    2025-01-15 | updated | active | 10.00/2 weeks  |      | 21.67
    2025-01-16 | updated | active | 240.00/2 years |      | 10.00
    `,
  );
  mrrTable(
    "should subtract recurring discounts while they apply, their announced end by itself",
    `
    at         | event   | status | items       | also                                    | mrr
    2025-01-10 | created | active | 10.00/month | -50%                                    |  5.00
    2025-01-11 | updated | active | 10.00/month | -50% once                               | 10.00
    2025-01-12 | updated | active | 10.00/month | -12.5%                                  |  8.75
    2025-01-13 | updated | active | 10.00/month | -2.50                                   |  7.50
    2025-01-14 | updated | active | 10.00/month | -12.50                                  |  0.00
    2025-01-15 | updated | active | 10.00/month | -50% to 2025-03-01                      |  5.00
    2025-02-28 |         |        |             |                                         |  5.00
    2025-03-01 |         |        |             |                                         | 10.00
    2025-04-01 | updated | active | 10.00/month | -20% to 2025-08-01, -1.00 to 2025-06-01 |  7.00
    2025-06-01 |         |        |             |                                         |  8.00
    2025-07-01 | updated | active | 20.00/month | -20% to 2025-08-01                      | 16.00
    2025-08-01 |         |        |             |                                         | 20.00
    `,
  );
  mrrTable(
    "should not let an announced end undo a change that came before it",
    `
    at         | event   | status   | items       | also               | mrr
    2025-01-10 | created | active   | 10.00/month | -50% to 2025-03-01 | 5.00
    2025-02-01 | deleted | canceled | 10.00/month | -50% to 2025-03-01 | 0.00
    2025-03-02 |         |          |             |                    | 0.00
    `,
  );
  mrrTable(
    "should take an item's own discount first and share a common one pro rata",
    `
    at         | event   | items                    | also             | mrr   | prod_0 | prod_1
    2025-01-10 | created | 20.00/month, 20.00/month | item -50%        | 30.00 |  10.00 |  20.00
    2025-01-11 | updated | 20.00/month, 20.00/month | item -50%, -3.00 | 27.00 |   9.00 |  18.00
    2025-01-12 | updated | 20.00/month, 20.00/month | item -50%, -10%  | 27.00 |   9.00 |  18.00
    2025-01-13 | updated | 0.20/month, 0.10/month   | -0.10            |  0.20 |   0.13 |   0.07
    `,
  );
  mrrTable(
    "should hold the rate while the price stands, so that rates alone are no growth",
    `
    at         | event   | status   | items          | also | mrr    # EUR → USD
    2025-01-07 | created | active   | 10.00/month    | EUR  | 10.43  # 1.0426 of 6 January
    2025-02-10 | updated | active   | 10.00/month    | EUR  | 10.43  # a renewal
    2025-03-04 | updated | active   | 10.00/month x2 | EUR  | 20.93  # 1.0465 of 3 March
    2025-03-08 | updated | past_due | 10.00/month x2 | EUR  | 20.93
    2025-03-10 | updated | unpaid   | 10.00/month x2 | EUR  |  0.00
    2025-04-14 | updated | active   | 10.00/month x2 | EUR  | 20.93  # unpaid: not at 1.1346
    2025-05-02 | updated | active   | 15.00/month    | USD  | 15.00
    2025-05-05 | updated | active   | 15.00/month    | EUR  | 17.01  # 1.1343 of Friday, 2 May
    2025-05-06 | updated | active   | 180.00/year    | EUR  | 17.01  # the same a month
    `,
  );
  mrrTable(
    "should hold the rate over a time that counts nothing, and none over an end",
    `
    at         | event   | status   | items       | also                   | mrr    # EUR → USD
    2025-01-07 | created | active   | 10.00/month | EUR                    | 10.43  # 1.0426
    2025-02-04 | paused  | paused   | 10.00/month | EUR                    |  0.00
    2025-02-10 | updated | unpaid   | 10.00/month | EUR                    |  0.00
    2025-03-04 | resumed | active   | 10.00/month | EUR                    | 10.43  # not at 1.0465
    2025-03-05 | updated | active   | 10.00/month | EUR, collection paused |  0.00
    2025-03-10 | updated | trialing | 10.00/month | EUR                    |  0.00
    2025-04-14 | updated | active   | 10.00/month | EUR                    | 10.43  # not at 1.1346
    2025-04-15 | updated | active   | 10.00/month | EUR, -100%             |  0.00
    2025-05-05 | updated | active   | 10.00/month | EUR                    | 10.43  # not at 1.1343
    2025-05-06 | deleted | canceled | 10.00/month | EUR                    |  0.00
    2025-05-07 | updated | unpaid   | 10.00/month | EUR                    |  0.00
    2025-05-08 | updated | active   | 10.00/month | EUR                    | 11.36  # 1.136 of 7 May
    `,
  );
  mrrTable(
    "should take the quote of a price that was set in a pause, and of an item that was missing",
    `
    at         | event   | status | items                    | also | mrr    # EUR → USD
    2025-01-07 | created | active | 10.00/month, 2.00/month  | EUR  | 12.51  # 1.0426 of 6 January
    2025-02-04 | paused  | paused | 10.00/month, 2.00/month  | EUR  |  0.00
    2025-02-10 | updated | paused | 20.00/month, 2.00/month  | EUR  |  0.00
    2025-03-04 | resumed | active | 20.00/month, 2.00/month  | EUR  | 23.02  # 20 at 1.0465
    2025-03-05 | paused  | paused | 20.00/month, 2.00/month  | EUR  |  0.00
    2025-03-06 | resumed | active | 20.00/month              | EUR  | 20.93
    2025-04-14 | updated | active | 20.00/month, 2.00/month  | EUR  | 23.20  # 2 at 1.1346
    `,
  );
  mrrTable(
    "should add up the subscriptions of an account and let it come back",
    `
    at         | sub | event   | status   | items       | also | mrr   | subscribers
    2025-01-10 | a   | created | active   | 10.00/month |      | 10.00 |           1
    2025-01-20 | b   | created | active   | 5.00/month  |      | 15.00 |           1
    2025-02-10 | a   | deleted | canceled | 10.00/month |      |  5.00 |           1
    2025-02-20 | b   | deleted | canceled | 5.00/month  |      |  0.00 |           0
    2025-05-20 | c   | created | active   | 30.00/month |      | 30.00 |           1
    `,
  );
  // Of KWD there is the wide list that the release carries, of 2026-09-29: 0.35071891 for one euro.
  mrrTable(
    "should count prices in currencies of no decimals and of three",
    `
    at         | event   | status | items          | also | mrr    # USD for one, of the day before
    2026-10-06 | created | active | 1500/month     | JPY  |  9.48  # 1.1204 / 177.28
    2026-10-07 | updated | active | 1500/month x10 | JPY  | 94.88  # 1.1269 / 178.15
    2026-10-08 | updated | active | 10.000/month   | KWD  | 31.87  # 1.1177 / 0.35071891
    2026-10-09 | updated | active | 10.010/month   | KWD  | 31.93  # 1.1186 / 0.35071891
    `,
  );
  recordTable(
    "should end the oldest of the subscriptions without an id that are alike",
    `
    at         | event      | sku | amount | mrr   | subscribers | revenue
    2025-01-10 | new        | a   |  15.00 | 15.00 |           1 |   15.00
    2025-01-20 | new        | a   |  15.00 | 30.00 |           2 |   30.00
    2025-01-25 | new        | b   |  15.00 | 45.00 |           3 |   45.00
    2025-02-10 | churn      | a   |  15.00 | 30.00 |           2 |   45.00
    2025-02-15 | new        | a   |  20.00 | 50.00 |           3 |   65.00
    2025-03-10 | churn      | a   |  15.00 | 35.00 |           2 |   65.00
    2025-04-01 | churn      | a   |  15.00 | 35.00 |           2 |   65.00  # finds none: it waits
    2025-05-01 | new        | a   |  15.00 | 50.00 |           3 |   80.00  # begun after it: stays
    2025-06-01 | new a year | c   | 120.00 | 60.00 |           4 |  200.00
    2025-06-02 | sale       | c   | 120.00 | 60.00 |           4 |  320.00  # names no subscription
    2025-07-01 | churn      | c   | 120.00 | 50.00 |           3 |  320.00
    `,
  );
  transferTable(
    "should count a subscription under the customer it was reported under last, and once",
    `
    at         | sub | event      | user | amount | mrr   | subscribers | revenue
    2025-01-10 | a   | purchase   | one  |  10.00 | 10.00 |           1 |   10.00
    2025-02-10 | a   | renewal    | one  |  10.00 | 10.00 |           1 |   20.00
    2025-03-10 | a   | renewal    | two  |  10.00 | 10.00 |           1 |   30.00  # restored there
    2025-04-10 | a   | renewal    | two  |  12.00 | 12.00 |           1 |   42.00
    2025-04-20 | b   | purchase   | one  |   5.00 | 17.00 |           2 |   47.00
    2025-05-10 | a   | renewal    | one  |  12.00 | 17.00 |           1 |   59.00  # and back
    2025-05-20 | b   | renewal    | two  |   5.00 | 17.00 |           2 |   64.00
    2025-06-10 | a   | expiration | two  |        |  5.00 |           1 |   64.00  # ends one's
    2025-06-20 | b   | renewal    | two  |   5.00 |  5.00 |           1 |   69.00
    2025-07-10 | a   | renewal    | one  |  12.00 | 17.00 |           2 |   81.00
    2025-07-20 | b   | expiration | two  |        | 12.00 |           1 |   81.00
    `,
  );
});

describe("money of one payment", () => {
  moneyTable(
    "should return a full refund to the cent, at the sale's rate",
    "EUR",
    `
    at         | event     | amount | revenue | refunded | status     # EUR → USD
    2025-01-07 | sale      | 100.00 |  104.26 |     0.00 | succeeded  # 1.0426
    2025-03-04 | refund r1 | 100.00 |    0.00 |   100.00 | refunded   # not at 1.0465
    `,
  );
  moneyTable(
    "should add up partial refunds to nothing left over",
    "EUR",
    `
    at         | event     | amount | revenue | refunded | status
    2025-01-07 | sale      | 100.00 |  104.26 |     0.00 | succeeded
    2025-01-08 | refund r1 |  33.33 |   69.51 |    33.33 | succeeded
    2025-01-09 | refund r2 |  33.33 |   34.76 |    66.66 | succeeded
    2025-01-10 | refund r3 |  33.34 |    0.00 |   100.00 | refunded
    `,
  );
  moneyTable(
    "should count a refund once, reported by itself and by the charge's total",
    "USD",
    `
    at               | event           | amount | revenue | refunded | status
    2025-01-07       | sale            | 100.00 |  100.00 |     0.00 | succeeded
    2025-01-08       | refund r1       |  40.00 |   60.00 |    40.00 | succeeded
    2025-01-08 00:01 | refunded in all |  40.00 |   60.00 |    40.00 | succeeded
    2025-01-09       | refunded in all | 100.00 |    0.00 |   100.00 | refunded
    `,
  );
  moneyTable(
    "should give back what a charge does not report as refunded any more",
    "EUR",
    `
    at         | event           | amount | revenue | refunded | status
    2025-01-07 | sale            | 100.00 |  104.26 |     0.00 | succeeded
    2025-01-08 | refunded in all | 100.00 |    0.00 |   100.00 | refunded
    2025-01-10 | refunded in all |  30.00 |   72.98 |    30.00 | succeeded
    2025-01-12 | refunded in all |   0.00 |  104.26 |     0.00 | succeeded
    2025-01-13 | refunded in all |  50.00 |   52.13 |    50.00 | succeeded
    `,
  );
  moneyTable(
    "should give the money back when a refund fails",
    "USD",
    `
    at         | event           | amount | revenue | refunded | status
    2025-01-07 | sale            | 100.00 |  100.00 |     0.00 | succeeded
    2025-01-08 | refund r1       | 100.00 |    0.00 |   100.00 | refunded
    2025-01-08 | refunded in all | 100.00 |    0.00 |   100.00 | refunded
    2025-01-15 | refund r1 fails |        |  100.00 |     0.00 | succeeded
    2025-01-20 | refund r2       |  25.00 |   75.00 |    25.00 | succeeded
    `,
  );
  moneyTable(
    "should convert a refund whose sale never came at its own day's rate",
    "EUR",
    `
    at         | event      | amount | revenue | refunded | status
    2025-01-07 | sale never | 100.00 |    0.00 |          |
    2025-03-04 | refund r1  |  50.00 |  -52.33 |          |         # 1.0465 of 3 March
    `,
  );
  moneyTable(
    "should take a dispute's money until it is won",
    "EUR",
    `
    at         | event         | amount | revenue | refunded | status
    2025-01-07 | sale          | 100.00 |  104.26 |     0.00 | succeeded
    2025-02-03 | dispute opens |        |    0.00 |     0.00 | disputed
    2025-03-04 | dispute won   |        |  104.26 |     0.00 | succeeded
    `,
  );
  moneyTable(
    "should leave a lost dispute disputed",
    "USD",
    `
    at         | event         | amount | revenue | refunded | status
    2025-01-07 | sale          | 100.00 |  100.00 |     0.00 | succeeded
    2025-01-10 | refund r1     |  20.00 |   80.00 |    20.00 | succeeded
    2025-02-03 | dispute opens |  80.00 |    0.00 |    20.00 | disputed
    2025-03-04 | dispute lost  |  80.00 |    0.00 |    20.00 | disputed
    `,
  );
  moneyTable(
    "should leave nothing of what is refunded in part and disputed for the rest",
    "EUR",
    `
    at         | event         | amount | revenue | refunded | status     # EUR → USD
    2025-01-07 | sale          | 100.00 |  104.26 |     0.00 | succeeded  # 1.0426
    2025-01-10 | refund r1     |  25.00 |   78.19 |    25.00 | succeeded  # 26.065: 26.07
    2025-02-03 | dispute opens |  75.00 |    0.00 |    25.00 | disputed   # 78.195: not 78.20
    2025-03-04 | dispute won   |  75.00 |   78.19 |    25.00 | succeeded
    2025-03-10 | refund r2     |  75.00 |    0.00 |   100.00 | refunded
    `,
  );
  moneyTable(
    "should take the money of a dispute again when all of it was refunded before",
    "EUR",
    `
    at         | event         | amount | revenue | refunded | status
    2025-01-07 | sale          | 100.00 |  104.26 |     0.00 | succeeded
    2025-01-10 | refund r1     | 100.00 |    0.00 |   100.00 | refunded
    2025-02-03 | dispute opens | 100.00 | -104.26 |   100.00 | disputed
    2025-03-04 | dispute won   | 100.00 |    0.00 |   100.00 | refunded
    `,
  );
  moneyTable(
    "should refund what a lost dispute left",
    "EUR",
    `
    at         | event         | amount | revenue | refunded | status
    2025-01-07 | sale          | 100.00 |  104.26 |     0.00 | succeeded
    2025-02-03 | dispute opens |  75.00 |   26.06 |     0.00 | disputed
    2025-03-04 | dispute lost  |  75.00 |   26.06 |     0.00 | disputed
    2025-03-10 | refund r1     |  25.00 |    0.00 |    25.00 | disputed
    `,
  );
  moneyTable(
    "should split a currency without decimals to nothing left over",
    "JPY",
    `
    at         | event     | amount | revenue | refunded | status     # JPY → USD
    2025-01-07 | sale      |   1000 |    6.39 |     0.00 | succeeded  # 1.0426 / 163.25
    2025-01-08 | refund r1 |    333 |    4.26 |   333.00 | succeeded  # 2.1267: 2.13
    2025-01-09 | refund r2 |    667 |    0.00 |  1000.00 | refunded
    `,
  );
  moneyTable(
    "should split a currency of three decimals to nothing left over",
    "KWD",
    `
    at         | event     | amount | revenue | refunded | status     # KWD → USD
    2026-10-06 | sale      | 10.000 |   31.95 |     0.00 | succeeded  # 1.1204 / 0.35071891
    2026-10-07 | refund r1 |  3.330 |   21.31 |     3.33 | succeeded  # 10.6379: 10.64
    2026-10-08 | refund r2 |  6.670 |    0.00 |    10.00 | refunded
    `,
  );
  moneyTable(
    "should move nothing for an inquiry",
    "USD",
    `
    at         | event          | amount | revenue | refunded | status
    2025-01-07 | sale           | 100.00 |  100.00 |     0.00 | succeeded
    2025-02-03 | inquiry opens  |        |  100.00 |     0.00 | succeeded
    2025-03-04 | inquiry closes |        |  100.00 |     0.00 | succeeded
    `,
  );
});

/** The columns after `also` are expected: `mrr`, `subscribers`, or the MRR of a product by id. */
function mrrTable(title: string, table: string): void {
  bothWays(title, table, "also", emitSubscriptions);
}

/** The columns after `amount` are expected: `revenue` in USD, `refunded` and `status`. */
function moneyTable(title: string, currency: string, table: string): void {
  bothWays(title, table, "amount", (script, rows, version) =>
    emitMoney(script, rows, currency, version),
  );
}

/** Form A records of nobody in particular; expected: `mrr`, `subscribers`, `revenue` in USD. */
function recordTable(title: string, table: string): void {
  bothWays(title, table, "amount", emitRecordRows);
}

/** What RevenueCat reports; expected: `mrr`, `subscribers`, `revenue` in USD. */
function transferTable(title: string, table: string): void {
  bothWays(title, table, "amount", emitTransfers);
}

type Seen = Readonly<Record<string, string>>;

/** @param lastGiven the last column that is not expected but sent */
function bothWays(title: string, table: string, lastGiven: string, report: Report): void {
  const rows = rowsOf(table);
  const index = tables.push({ rows, report }) - 1;
  it(title, async () => {
    const names = Object.keys(rows[0] ?? {});
    const expected = names.slice(names.indexOf(lastGiven) + 1);
    const prove = async ({ version, merchant, figures }: Booked) => {
      for (const row of rows) {
        const time = momentOf(cell(row, "at"));
        const hand = onlyColumns(row, expected);
        const seen = await seenByService(merchant, time, expected);
        expect(onlyColumns(seen, expected), `${version} ${cell(row, "at")}`).to.deep.equal(hand);
        const modelled = onlyColumns(seenByModel(figures, time), expected);
        expect(modelled, `the model, ${cell(row, "at")}`).to.deep.equal(hand);
      }
    };
    booked ??= bookAll();
    await Promise.all(((await booked)[index] ?? []).map(prove));
  });
}

async function bookAll(): Promise<readonly (readonly Booked[])[]> {
  const endpoint = await openTestService();
  const sent = await Promise.all(
    tables.map(({ rows, report }) =>
      Promise.all(
        ways.map(async ({ version, isBackwards }) => {
          const script = new Script(Date.now());
          report(script, rows, version);
          const merchant = await openMerchant(endpoint, "USD");
          const reported: ModelEvent[] = [];
          for (const event of isBackwards ? script.sent.toReversed() : script.sent) {
            reported.push(await send(merchant, event));
          }
          return { version, merchant, figures: figuresOf(reported, "USD") };
        }),
      ),
    ),
  );
  await allBooked(endpoint);
  return sent;
}

async function seenByService(
  merchant: Merchant,
  time: number,
  columns: readonly string[],
): Promise<Seen> {
  const clocks = { at: new Date(time).toISOString() };
  const [mrr, products, transactions] = await Promise.all([
    columns.includes("mrr") ? read(merchant, "/v1/metrics/mrr", clocks) : null,
    columns.some((name) => name === "revenue" || name.startsWith("prod_"))
      ? read(merchant, "/v1/products", { ...clocks, period: "lifetime" })
      : null,
    columns.includes("refunded") ? read(merchant, "/v1/transactions", clocks) : null,
  ]);
  const sold = list(products, "data");
  const [payment, ...others] = list(transactions, "data");
  expect(others).to.deep.equal([]);
  return {
    ...Object.fromEntries(
      sold.map((row) => [text(row, "providers", 0, "external_id"), money(number(row, "mrr"))]),
    ),
    mrr: money(number(mrr, "data", "current_mrr")),
    subscribers: String(number(mrr, "data", "active_subscribers")),
    revenue: money(
      sold.reduce<number>((sum, row) => sum + (number(row, "total_revenue") ?? NaN), 0),
    ),
    refunded: payment === undefined ? "" : money(number(payment, "refunded_amount")),
    status: text(payment, "status") ?? "",
  };
}

function seenByModel(figures: Figures, time: number): Seen {
  const mrr = figures.mrr(time);
  const sold = figures.products("lifetime", time);
  const [payment] = figures.transactions(time);
  return {
    ...Object.fromEntries(
      sold.map((product) => [product.providers[0]?.external_id, money(product.mrr)]),
    ),
    mrr: money(mrr.current_mrr),
    subscribers: String(mrr.active_subscribers),
    revenue: money(sold.reduce((sum, product) => sum + product.total_revenue, 0)),
    refunded: payment === undefined ? "" : money(payment.refunded_amount),
    status: payment?.status ?? "",
  };
}

function onlyColumns(row: Seen, names: readonly string[]): Seen {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? ""]));
}

/** As the tables write it. */
function money(amount: number | null): string {
  const cents = Math.round((amount ?? NaN) * 100);
  const size = String(Math.abs(cents)).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${size.slice(0, -2)}.${size.slice(-2)}`;
}
