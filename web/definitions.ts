/** What each figure means, in short; the whole text is docs/definitions.md. */
export interface Definition {
  readonly name: string;
  readonly text: string;
  /** How it is computed, where a formula says it best. */
  readonly formula?: string;
}

export const definitions = {
  mrr: {
    name: "MRR",
    text:
      "Monthly recurring revenue: what customers pay for recurring items, per month, over all " +
      "subscriptions at that moment. Trials, tax on top, one-off items and metered usage are " +
      "not part of it. Exchange rates alone never move it.",
    formula: "(unit amount × quantity − discount) ÷ interval × factor × rate",
  },
  arr: { name: "ARR", text: "Annual run rate.", formula: "12 × MRR" },
  netNew: {
    name: "Net new MRR",
    text:
      "What all movements of the period add up to: new, expansion and reactivation less " +
      "contraction and churn.",
    formula: "MRR at the end − MRR at the start",
  },
  subscribers: {
    name: "Active subscribers",
    text: "Accounts with MRR above 0. An account is one customer of one provider.",
  },
  arpa: {
    name: "ARPA",
    text: "Average MRR of an active subscriber.",
    formula: "MRR ÷ active subscribers",
  },
  customerChurn: {
    name: "Customer churn",
    text:
      "Accounts that churned in a month, as a part of those active at its start. Of several " +
      "months the mean of the whole ones; of the running month what it is so far.",
    formula: "churned accounts ÷ accounts at the start of the month",
  },
  mrrChurn: {
    name: "MRR churn",
    text:
      "MRR lost in a month by churn and contraction, as a part of MRR at its start. Of several " +
      "months the mean of the whole ones.",
    formula: "(churn + contraction) ÷ MRR at the start of the month",
  },
  netMrrChurn: {
    name: "Net MRR churn",
    text:
      "The same less what expansion and reactivation brought back in the month. Below 0 when " +
      "more was gained than lost.",
    formula: "(churn + contraction − expansion − reactivation) ÷ MRR at the start of the month",
  },
  quickRatio: {
    name: "Quick ratio",
    text: "How many units of MRR were gained for each one lost, over all the months shown.",
    formula: "(new + expansion + reactivation) ÷ (contraction + churn)",
  },
  ltv: {
    name: "LTV",
    text: "What a customer brings before leaving, at the ARPA and the monthly churn shown.",
    formula: "ARPA ÷ customer churn",
  },
  revenue: {
    name: "Revenue",
    text:
      "The sum of the ledger entries of the period in base currency: sales, less refunds and " +
      "disputes at the time they happened. Closed months never change because of a refund.",
    formula: "gross + refunds + disputes",
  },
  gross: { name: "Gross", text: "Sales as customers paid them, tax included, after discounts." },
  refunds: {
    name: "Refunds",
    text:
      "Given back in the period, converted at the rate of the sale, so that a full refund " +
      "cancels its sale to the cent.",
  },
  disputes: {
    name: "Disputes",
    text: "Money withdrawn by disputes less what was won back, at the time it moved.",
  },
  tax: { name: "Tax", text: "Tax within the sales, as far as providers report it." },
  fees: {
    name: "Fees",
    text: "Kept by providers, of the sales they report a fee for.",
  },
  net: { name: "Net", text: "What is left.", formula: "revenue − tax − fees" },
  sales: { name: "Sales", text: "Payments above 0. Free trials are not sales." },
  subscriptions: {
    name: "Active subscriptions",
    text: "Subscriptions with MRR above 0, as of the end.",
  },
  new: { name: "New", text: "MRR of accounts that had none ever before." },
  expansion: { name: "Expansion", text: "MRR that accounts with MRR added." },
  reactivation: { name: "Reactivation", text: "MRR of accounts that had churned and came back." },
  switch: {
    name: "Switch",
    text: "MRR that an account moved between products, subscriptions or currencies at one moment.",
  },
  contraction: {
    name: "Contraction",
    text:
      "MRR that accounts gave up while keeping some. One of two subscriptions ending is a " +
      "contraction.",
  },
  churn: {
    name: "Churn",
    text:
      "MRR of accounts that went to 0. A cancellation counts when its end takes effect, not " +
      "when it is announced.",
  },
  nrr: {
    name: "Net retention",
    text:
      "MRR of the accounts that began in one month, at the end of a later one, as a part of " +
      "what they began with. Expansion and reactivation count, so it may exceed 100 %.",
  },
  grr: {
    name: "Gross retention",
    text: "The same without growth: each account counts at most with what it began with.",
  },
  averageRetention: {
    name: "Average retention",
    text:
      "Weighted by what each began with, at each age: of those that are that old, the months " +
      "(quarters, years) that are over. Beside it the newest ones, one by one.",
    formula: "Σ left at that age ÷ Σ began with",
  },
  accountRetention: {
    name: "Accounts kept",
    text:
      "How many of the accounts that began in one month still have MRR at the end of a later " +
      "one.",
  },
  rate: {
    name: "Exchange rate",
    text:
      "Units of base currency for one unit of the original currency, of the last quote " +
      "published before the day of the payment. Amount × rate, rounded to the minor unit, gives" +
      " the converted amount.",
  },
  transaction: {
    name: "Transaction",
    text:
      "One payment as the customer sees it. Refunds and disputes make new versions of it; every" +
      " version is kept.",
  },
  rawEvent: {
    name: "Raw event",
    text: "One call of a provider as it arrived, its signature checked, its bytes sealed.",
  },
  completeTo: {
    name: "Complete to",
    text: "Everything received up to this moment has been booked. Figures read as of it are final.",
  },
  knownAt: {
    name: "As we knew it then",
    text:
      "Counts what was recorded up to that moment. What was reported later, even about earlier " +
      "days, is left out.",
  },
  known: {
    name: "Two readings",
    text:
      "The same figure, of the same moment, as it was known at two times. The difference is " +
      "made of events recorded in between, and adds up to the last digit.",
  },
} as const satisfies Readonly<Record<string, Definition>>;

export type DefinitionName = keyof typeof definitions;
