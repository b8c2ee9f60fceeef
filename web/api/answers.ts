/** What each call answers: the service's own schemas, of which only the types are taken. */
import type { AccountAnswer, AccountsAnswer } from "../../api/accounts/schema.js";
import type { AccountCohortsAnswer, CohortsAnswer } from "../../api/cohorts/schema.js";
import type { EventAnswer } from "../../api/events/schema.js";
import type { MovementsAnswer } from "../../api/movement-series/schema.js";
import type { WhatChangedAnswer } from "../../api/what-changed/schema.js";
import type { MrrChangesAnswer } from "../../api/mrr-changes/schema.js";
import type { MrrCompareAnswer } from "../../api/mrr-compare/schema.js";
import type { FailedPaymentsAnswer } from "../../api/failed-payments/schema.js";
import type { MrrAnswer } from "../../api/mrr/schema.js";
import type { ProductsAnswer } from "../../api/products/schema.js";
import type { RatesAnswer } from "../../api/rates/schema.js";
import type { RecordedMovementsAnswer } from "../../api/recorded-movements/schema.js";
import type { RevenueAnswer } from "../../api/revenue/schema.js";
import type { SummaryAnswer } from "../../api/summary/schema.js";
import type { TransactionAnswer } from "../../api/transaction/schema.js";
import type { TrialsAnswer } from "../../api/trials/schema.js";
import type { TransactionsAnswer } from "../../schemas/http/transactions.js";

export interface Answers {
  readonly "/v1/metrics/mrr": MrrAnswer;
  readonly "/v1/metrics/mrr/movements": MovementsAnswer;
  readonly "/v1/metrics/mrr/changes": MrrChangesAnswer;
  readonly "/v1/metrics/mrr/compare": MrrCompareAnswer;
  readonly "/v1/metrics/mrr/what-changed": WhatChangedAnswer;
  readonly "/v1/metrics/cohorts": CohortsAnswer | AccountCohortsAnswer;
  readonly "/v1/metrics/rates": RatesAnswer;
  readonly "/v1/metrics/revenue": RevenueAnswer;
  readonly "/v1/metrics/summary": SummaryAnswer;
  readonly "/v1/metrics/trials": TrialsAnswer;
  readonly "/v1/metrics/failed-payments": FailedPaymentsAnswer;
  readonly "/v1/accounts": AccountsAnswer;
  readonly [account: `/v1/accounts/${string}`]: AccountAnswer;
  readonly "/v1/products": ProductsAnswer;
  readonly "/v1/transactions": TransactionsAnswer;
  readonly [one: `/v1/transactions/${string}`]: TransactionAnswer;
  readonly [event: `/v1/events/${string}`]: EventAnswer;
  readonly "/v1/mrr-movements": RecordedMovementsAnswer;
}
