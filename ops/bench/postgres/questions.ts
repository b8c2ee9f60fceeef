/** What is asked: a path here, and there the SQL that a person who knows Postgres would write. */
import { rareCountry, yearMs } from "../fill.js";

export interface Question {
  readonly name: string;
  /** Below the service's address; null: the page after the cursor half way. */
  readonly path: string | null;
  readonly sql: string;
}

const dayMs = 24 * 60 * 60 * 1000;
const pageRows = 50;

/** @param now ms since 1970 */
export function questionsAt(now: number, halfWay: number, workspace: string): readonly Question[] {
  const mine = `workspace = '${workspace}'`;
  const fiveYearsAgo = new Date(dayStart(now - 5 * yearMs));
  const tenYearsAgo = new Date(dayStart(now - 10 * yearMs));
  const page = (condition: string) =>
    `SELECT id, happened_at, provider, external_id, amount, currency, country, type, status
     FROM payments WHERE ${mine} ${condition}
     ORDER BY happened_at DESC, id DESC LIMIT ${pageRows}`;
  return [
    {
      name: "MRR now, by provider",
      path: "/v1/metrics/mrr",
      sql: `SELECT provider, sum(mrr), sum(accounts) FROM movements
            WHERE ${mine} AND happened_at <= ${moment(now)} GROUP BY provider`,
    },
    {
      name: "movements by month, five years",
      path: `/v1/metrics/mrr/movements?interval=month&from=${fiveYearsAgo.toISOString()}`,
      sql: `SELECT date_trunc('month', happened_at) AS month, kind, sum(mrr) FROM movements
            WHERE ${mine} AND happened_at >= ${moment(fiveYearsAgo.getTime())}
            GROUP BY month, kind`,
    },
    {
      name: "cohorts by month, ten years",
      path: "/v1/metrics/cohorts",
      sql: `SELECT vintage, date_trunc('month', happened_at) AS month,
              sum(CASE WHEN kind = 'new' THEN mrr ELSE 0 END), sum(mrr)
            FROM movements WHERE ${mine} GROUP BY vintage, month`,
    },
    {
      name: "products, lifetime",
      path: "/v1/products?period=lifetime&limit=200",
      sql: `SELECT provider, external_id, sum(revenue), sum(sales), sum(mrr), sum(active)
            FROM (
              SELECT provider, external_id, sum(amount) AS revenue, sum(sales) AS sales,
                0 AS mrr, 0 AS active
              FROM ledger WHERE ${mine} GROUP BY provider, external_id
              UNION ALL
              SELECT provider, external_id, 0, 0, sum(mrr), sum(subscriptions)
              FROM movements WHERE ${mine} GROUP BY provider, external_id
            ) AS parts GROUP BY provider, external_id`,
    },
    {
      name: "revenue by country by month, ten years",
      path:
        "/v1/metrics/revenue?interval=month&group_by=country" +
        `&from=${tenYearsAgo.toISOString()}`,
      sql: `SELECT country, date_trunc('month', happened_at) AS month, sum(amount) FROM ledger
            WHERE ${mine} AND happened_at >= ${moment(tenYearsAgo.getTime())}
            GROUP BY country, month`,
    },
    {
      name: "first page of transactions",
      path: `/v1/transactions?limit=${pageRows}`,
      sql: page(""),
    },
    {
      name: "a page half way back",
      path: null,
      sql: page(`AND happened_at < ${moment(halfWay)}`),
    },
    {
      name: "first page of a rare country",
      path: `/v1/transactions?country=${rareCountry}&limit=${pageRows}`,
      sql: page(`AND country = '${rareCountry}'`),
    },
  ];
}

/** In UTC. */
function moment(at: number): string {
  return `'${new Date(at).toISOString().replace("T", " ").slice(0, 19)}'`;
}

/** Periods begin with a day. */
function dayStart(at: number): number {
  return at - (at % dayMs);
}
