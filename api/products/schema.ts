/** `GET /v1/products` (`spec.md` 2.2, 4.3). */
import { z } from "zod";
import { clocksQuery, completeAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery, pagination } from "../../schemas/http/pages.js";
import { severalNote, severalOf } from "../../schemas/http/several.js";
import { cellQuery } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";
import { compareQuery } from "../summary/schema.js";
import { categories } from "../../schemas/products.js";

const periods = ["today", "7d", "30d", "3m", "12m", "lifetime"] as const;
export type Period = (typeof periods)[number];

const ofPart = "Figures of what customers there pay, and products that have any.";

const productSorts = [
  "-total_revenue",
  "total_revenue",
  "-mrr",
  "mrr",
  "-active_subscriptions",
  "active_subscriptions",
  "-name",
  "name",
] as const;
export type ProductSort = (typeof productSorts)[number];

export const productsQueryParameters = z.object({
  period: z
    .enum(periods)
    .optional()
    .meta({
      description:
        "Bounds revenue and sales, ends at `at`. Days are calendar days with today; months begin " +
        "at 00:00 of the same day. Default: `30d`.",
    }),
  category: severalOf(categories).optional().meta({ description: severalNote }),
  provider: cellQuery.provider.describe(`Only SKUs of these, and what they sold. ${severalNote}`),
  product: cellQuery.product.describe(`Only these. ${severalNote}`),
  segment: cellQuery.segment,
  currency: cellQuery.currency.describe(`${ofPart} ${severalNote}`),
  country: cellQuery.country.describe(`${ofPart} ${severalNote}`),
  sort: z
    .enum(productSorts)
    .optional()
    .meta({ description: "With `-` descending; of equals by `id`. Default: `-total_revenue`." }),
  compare: compareQuery.compare.meta({
    description:
      "The same figures of the period just before, of the same a year before, or as known at " +
      "`compare_known_at`. A day that is going on is compared up to the same time.",
  }),
  compare_known_at: compareQuery.compare_known_at,
  ...pageQuery,
  ...clocksQuery,
  ...formatQuery,
});

export const product = z
  .object({
    id: z.string().meta({ description: "`prod_unf_…`" }),
    name: z.string(),
    slug: z.string(),
    category: z.enum(categories),
    total_revenue: z.number().meta({ description: "Of the period, in `currency`." }),
    total_sales: z.int().meta({ description: "Of the period." }),
    active_subscriptions: z.int().meta({ description: "With MRR above 0, as of now." }),
    mrr: z.number().meta({ description: "As of now." }),
    currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
    providers: z.array(
      z
        .object({
          provider: providerToken,
          external_id: z.string().meta({ description: "The SKU at that provider." }),
          revenue: z.number(),
          sales_count: z.int(),
        })
        .meta({ id: "ProductProvider" }),
    ),
  })
  .meta({ id: "Product" });
export type Product = z.output<typeof product>;

const { total_revenue, total_sales, active_subscriptions, mrr } = product.shape;
const productThen = z
  .object({ total_revenue, total_sales, active_subscriptions, mrr })
  .meta({ id: "ProductThen" });
export type ProductThen = z.output<typeof productThen>;

const productTotals = z.object({
  total_revenue: z.number(),
  total_sales: z.int(),
  mrr: z.number(),
});

export const productsAnswer = completeAnswer("ProductsAnswer", {
  period: z
    .object({
      name: z.enum(periods),
      since: z.iso.datetime().nullable().meta({ description: "Null of `lifetime`." }),
      until: z.iso.datetime().meta({ description: "`at`." }),
    })
    .meta({ id: "ProductsPeriod", description: "Of `total_revenue` and `total_sales`." }),
  data: z.array(
    product.extend({
      compare: productThen.nullable().optional().meta({
        description: "With `compare`; null where there is no such time, and of what is new since.",
      }),
    }),
  ),
  totals: productTotals.meta({
    id: "ProductsTotals",
    description: "Of all products that are asked for.",
  }),
  compare: z
    .object({
      since: z.iso.datetime().nullable(),
      until: z.iso.datetime(),
      totals: productTotals,
    })
    .nullable()
    .optional()
    .meta({ description: "With `compare`; null where there is no such time." }),
  pagination,
});
export type ProductsAnswer = z.output<typeof productsAnswer>;
