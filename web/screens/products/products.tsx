/** Products, those with the most revenue first, with the SKUs they are made of. */
import type { ProductThen, ProductsAnswer } from "../../../api/products/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { providerName } from "../../format/names.js";
import { moment, range as rangeText } from "../../format/dates.js";
import { change, count, money } from "../../format/numbers.js";
import { Delta } from "../../parts/delta.js";
import { OneOfMenu, chosenOf, oneOf } from "../../parts/menu.js";
import { ListTable } from "../../parts/list-table.js";
import { useListed } from "../../parts/pages.js";
import { Empty } from "../../parts/states.js";
import { type Column, orderIn } from "../../parts/table.js";
import { Bar } from "../../shell/bar.js";
import { SeveralMenu } from "../../shell/several-menu.js";
import { dayAfter } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";
import { compareParams } from "../compare-params.js";
import { ExportMenu } from "../series-exports.js";
import { ProductDrawer } from "./product-drawer.js";

const path = "/v1/products";

type ComparedProduct = ProductsAnswer["data"][number];

const periods = oneOf("period", "30d", {
  today: "Today",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "3m": "Last 3 months",
  "12m": "Last 12 months",
  lifetime: "All time",
});
const categories = ["SaaS", "Mobile App", "Desktop App", "Digital Asset"] as const;

const sorts = [
  "-total_revenue",
  "total_revenue",
  "-mrr",
  "mrr",
  "-active_subscriptions",
  "active_subscriptions",
  "name",
  "-name",
] as const;

export default function Products() {
  const view = useView();
  const period = chosenOf(view, periods);
  const category = view.get("category");
  const open = view.get("open");
  const order = orderIn(view, sorts);
  const { product: _product, ...filters } = view.filters;
  const wanted = { period, category, ...filters, sort: order.sort, ...compareParams(view) };
  const params = { ...wanted, limit: "200" };
  const loaded = useAnswer(path, params);
  const { answer } = loaded;
  const list = useListed(loaded, path, params);
  const totals = answer?.totals;
  const then = answer?.compare ?? undefined;
  /** Beside a figure: how much more it is than at the other time. */
  const changeOf = (
    valueOf: (figures: ProductThen) => number,
    ofTotals: readonly [number, number] | undefined,
  ): readonly Column<ComparedProduct>[] =>
    then === undefined
      ? []
      : [
          {
            head: "Change",
            isNumber: true,
            foot: ofTotals && <Delta change={change(...ofTotals)} />,
            cell: (row) =>
              row.compare ? (
                <Delta
                  change={change(valueOf(row), valueOf(row.compare))}
                  title={`Compared with ${money(valueOf(row.compare), row.currency)}`}
                />
              ) : (
                <span class="soft">new</span>
              ),
          },
        ];
  const isFiltered = category !== null || Object.keys(filters).length > 0;
  const currency = list.rows[0]?.currency ?? "USD";
  const shown = list.rows.find(({ id }) => id === open);
  return (
    <>
      <Bar
        title="Products"
        controls={{ compare: true, filters: ["provider", "country", "currency"] }}
      >
        <OneOfMenu name="Period" of={periods} />
        <SeveralMenu
          name="category"
          label="Category"
          all="All categories"
          options={categories.map((value) => ({ value, label: value }))}
        />
        <ExportMenu path={path} params={wanted} />
      </Bar>
      {then === undefined ? null : (
        <p class="soft intro">
          {then.since === null
            ? `Compared with all up to ${moment(then.until)}.`
            : `Compared with ${daysText(then.since, then.until)}, its last day to the same time.`}
        </p>
      )}
      <ListTable
        of={list}
        caption="Products"
        order={order}
        isCurrent={({ id }) => id === open}
        columns={[
          {
            head: "Product",
            sort: "name",
            foot: "All products",
            cell: ({ id, name }) => (
              <a class="row-link" href={view.with({ open: id })}>
                {name}
              </a>
            ),
          },
          {
            head: "Revenue",
            sort: "-total_revenue",
            isNumber: true,
            foot: totals && money(totals.total_revenue, currency),
            cell: (row) => (
              <a class="row-link" href={view.to("/revenue", { product: row.id })}>
                {money(row.total_revenue, row.currency)}
              </a>
            ),
          },
          ...changeOf(
            (figures) => figures.total_revenue,
            totals && then && [totals.total_revenue, then.totals.total_revenue],
          ),
          {
            head: "Sales",
            isNumber: true,
            foot: totals && count(totals.total_sales),
            cell: (row) => (
              <a class="row-link" href={view.to("/transactions", { product: row.id })}>
                {count(row.total_sales)}
              </a>
            ),
          },
          {
            head: "Subscriptions",
            sort: "-active_subscriptions",
            isNumber: true,
            cell: (row) => (
              <a class="row-link" href={view.to("/accounts", { product: row.id, active: "true" })}>
                {count(row.active_subscriptions)}
              </a>
            ),
          },
          {
            head: "MRR",
            sort: "-mrr",
            isNumber: true,
            foot: totals && money(totals.mrr, currency),
            cell: (row) => (
              <a class="row-link" href={view.to("/mrr", { product: row.id })}>
                {money(row.mrr, row.currency)}
              </a>
            ),
          },
          ...changeOf((figures) => figures.mrr, totals && then && [totals.mrr, then.totals.mrr]),
          { head: "Category", cell: (row) => row.category },
          {
            head: "Sold by",
            cell: ({ providers }) =>
              [...new Set(providers.map(({ provider }) => providerName(provider)))].join(", "),
          },
        ]}
      >
        <Empty
          title={isFiltered ? "No products here" : "No products yet"}
          action={
            isFiltered
              ? { href: view.with(nothing), label: "Remove all filters" }
              : connectAction(view)
          }
        >
          {isFiltered
            ? "None has these categories and sold or sells anything with these filters."
            : "A product appears with the first event that names it."}
        </Empty>
      </ListTable>
      {shown === undefined ? null : (
        <ProductDrawer
          product={shown}
          all={list.rows}
          period={periods.labels[period].toLowerCase()}
        />
      )}
    </>
  );
}

const nothing = { category: null, provider: null, country: null, currency: null, segment: null };

function daysText(since: string, until: string): string {
  return rangeText({ from: since.slice(0, 10), to: dayAfter(until.slice(0, 10)) });
}
