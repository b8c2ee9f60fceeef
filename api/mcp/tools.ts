/**
 * The tools of the MCP server. Each is a read call of the HTTP interface with all its parameters,
 * plus a name to choose by and the screen of the dashboard that shows the same.
 */
import { openApiDocument } from "../docs/openapi.js";

interface Tool {
  readonly name: string;
  /** When to choose it. */
  readonly use: string;
  readonly path: string;
  /** Of the dashboard, with the same parameters in its path. */
  readonly screen: string;
  /** The heading of the page that defines the figures. */
  readonly definition: string;
}

export const tools: readonly Tool[] = [
  {
    name: "mrr",
    use: "What MRR is, or was at a moment; growth over a month; MRR by provider.",
    path: "/v1/metrics/mrr",
    screen: "/mrr",
    definition: "mrr",
  },
  {
    name: "mrr_movements",
    use: "MRR over time, and how much was new, expansion, contraction, churn or reactivation.",
    path: "/v1/metrics/mrr/movements",
    screen: "/mrr/movements",
    definition: "mrr",
  },
  {
    name: "what_changed",
    use: "Why MRR is another than it was: what made the difference between two days.",
    path: "/v1/metrics/mrr/what-changed",
    screen: "/what-changed",
    definition: "mrr",
  },
  {
    name: "why_read_otherwise",
    use: "Why the same past figure was reported otherwise earlier: what was recorded since.",
    path: "/v1/metrics/mrr/changes",
    screen: "/why",
    definition: "two-clocks",
  },
  {
    name: "compare_definitions",
    use: "Why Stripe, ChartMogul, ProfitWell or RevenueCat shows another MRR.",
    path: "/v1/metrics/mrr/compare",
    screen: "/mrr/definitions",
    definition: "mrr",
  },
  {
    name: "summary",
    use: "The usual figures at once: MRR, ARR, ARPA, churn, quick ratio, LTV.",
    path: "/v1/metrics/summary",
    screen: "/overview",
    definition: "mrr",
  },
  {
    name: "rates",
    use: "Churn, LTV, ARPA and quick ratio by month.",
    path: "/v1/metrics/rates",
    screen: "/rates",
    definition: "mrr",
  },
  {
    name: "trials",
    use: "Free trials: how many began in each month, came to be paid, were lost, are open.",
    path: "/v1/metrics/trials",
    screen: "/rates",
    definition: "mrr",
  },
  {
    name: "failed_payments",
    use:
      "Failed payments of subscriptions: how many, and how much MRR, were recovered, lost, are " +
      "open in each month; churn that was involuntary and voluntary.",
    path: "/v1/metrics/failed-payments",
    screen: "/rates",
    definition: "mrr",
  },
  {
    name: "retention",
    use: "How much of the revenue, or how many of the customers of each month, stayed.",
    path: "/v1/metrics/cohorts",
    screen: "/retention",
    definition: "cohorts",
  },
  {
    name: "revenue",
    use: "Money over time: sales, refunds, disputes, tax, fees, net.",
    path: "/v1/metrics/revenue",
    screen: "/revenue",
    definition: "ledger-and-revenue",
  },
  {
    name: "products",
    use: "Which products earn what.",
    path: "/v1/products",
    screen: "/products",
    definition: "products",
  },
  {
    name: "countries",
    use: "Which countries other tools can be asked about.",
    path: "/v1/countries",
    screen: "/overview",
    definition: "customers",
  },
  {
    name: "segments",
    use: "Named parts of the business, whose ids other tools take as `segment`.",
    path: "/v1/segments",
    screen: "/overview",
    definition: "dashboard-and-sign-in",
  },
  {
    name: "accounts",
    use: "Customers and their MRR: the largest first, or those who left (active=false).",
    path: "/v1/accounts",
    screen: "/accounts",
    definition: "customers",
  },
  {
    name: "account",
    use: "All that happened to one customer.",
    path: "/v1/accounts/{id}",
    screen: "/accounts/{id}",
    definition: "customers",
  },
  {
    name: "recorded_movements",
    use: "Single movements of MRR: who began, upgraded, downgraded, left or came back, and when.",
    path: "/v1/mrr-movements",
    screen: "/mrr/movements",
    definition: "mrr",
  },
  {
    name: "transactions",
    use: "Payments and refunds, filtered or found by a provider's id.",
    path: "/v1/transactions",
    screen: "/transactions",
    definition: "transactions",
  },
  {
    name: "transaction",
    use: "How one payment came to its amount: rate, tax, fee, versions, events.",
    path: "/v1/transactions/{id}",
    screen: "/transactions?open={id}",
    definition: "transactions",
  },
  {
    name: "event",
    use: "What one event of a provider did.",
    path: "/v1/events/{event_id}",
    screen: "/events/{event_id}",
    definition: "two-clocks",
  },
];

export function toolList() {
  const { paths } = openApiDocument();
  return tools.map(({ name, use, path }) => {
    const operation = paths[path]?.["get"];
    if (operation === undefined) throw new Error(`there is no ${path}`);
    const { summary, description = "" } = operation;
    const parameters = operation.parameters.filter((each) => !ofOthers.has(each.name));
    return {
      name,
      title: summary,
      description: `${use} ${summary}. ${description}`.trim(),
      inputSchema: {
        type: "object" as const,
        properties: Object.fromEntries(
          parameters.map(({ name: parameter, schema, description: meaning }) => [
            parameter,
            meaning === undefined ? schema : { ...schema, description: meaning },
          ]),
        ),
        required: parameters.filter(({ required }) => required).map((each) => each.name),
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    };
  });
}

/** A key has its workspace and environment, and a program reads JSON. */
const ofOthers: ReadonlySet<string> = new Set(["workspace", "environment", "format"]);
