/** Merging another product into one: what would move is shown before. */
import { useState } from "preact/hooks";
import type { Product } from "../../../api/products/schema.js";
import type { MergedProduct } from "../../../schemas/http/manage.js";
import { call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { providerName } from "../../format/names.js";
import { count, money } from "../../format/numbers.js";
import { Confirm } from "../../parts/confirm.js";
import { Fact } from "../../parts/fact.js";
import { Options } from "../../parts/options.js";
import { Table } from "../../parts/table.js";

export function Merge(props: {
  readonly product: Product;
  readonly all: readonly Product[];
  /** Of the figures shown, in words. */
  readonly period: string;
  /** Where calls about products go to. */
  readonly base: string;
  /** @param activity the merge's row in the activity log */
  readonly onMerged: (other: Product, activity: string) => void;
}) {
  const { product, base } = props;
  const [chosen, setChosen] = useState<string | null>(null);
  const others = props.all.filter(({ id }) => id !== product.id);
  const other = others.find(({ id }) => id === chosen) ?? others[0];
  if (other === undefined) return <p class="soft">There is no other product.</p>;
  return (
    <div class="row-form">
      <select
        aria-label="Other product"
        value={other.id}
        onChange={(event) => setChosen(event.currentTarget.value)}
      >
        <Options of={others.map(({ id, name }) => [id, name])} />
      </select>
      <Confirm
        label="Merge"
        title={`Merge ${other.name} into ${product.name}?`}
        isHarmless
        act={async () => {
          const { data } = await call<One<MergedProduct>>("POST", `${base}/${product.id}/merge`, {
            body: { from: [other.id] },
          });
          props.onMerged(other, data.activity);
        }}
      >
        <Preview product={product} other={other} period={props.period} />
      </Confirm>
    </div>
  );
}

function Preview(props: {
  readonly product: Product;
  readonly other: Product;
  readonly period: string;
}) {
  const { product, other, period } = props;
  return (
    <div class="stack">
      <p>
        These SKUs move to <strong>{product.name}</strong>, and their figures with them, for the
        past too. <strong>{other.name}</strong> is gone then. The activity list of the settings can
        undo this.
      </p>
      <Table
        caption={`What moves, ${period}`}
        rows={other.providers}
        rowKey={({ provider, external_id: id }) => `${provider} ${id}`}
        columns={[
          {
            head: "SKU",
            cell: ({ external_id: id }) => <span class="code">{id === "" ? "–" : id}</span>,
            foot: "Together",
          },
          { head: "Provider", cell: (row) => providerName(row.provider) },
          {
            head: `Revenue, ${period}`,
            isNumber: true,
            cell: ({ revenue }) => money(revenue, other.currency),
            foot: money(other.total_revenue, other.currency),
          },
          {
            head: "Sales",
            isNumber: true,
            cell: ({ sales_count: sales }) => count(sales),
            foot: count(other.total_sales),
          },
        ]}
      />
      <dl class="facts">
        <Fact name="MRR that moves">{money(other.mrr, other.currency)}</Fact>
        <Fact name="Active subscriptions that move">{count(other.active_subscriptions)}</Fact>
      </dl>
    </div>
  );
}
