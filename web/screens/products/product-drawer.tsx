/** One product: its SKUs; rename, categorise, merge and split, and take each back. */
import { useLocation } from "preact-iso";
import { signal } from "@preact/signals";
import type { Product } from "../../../api/products/schema.js";
import { call } from "../../api/client.js";
import { providerName } from "../../format/names.js";
import { count, money } from "../../format/numbers.js";
import { Drawer } from "../../parts/drawer.js";
import { fieldOf } from "../../parts/field.js";
import { Icon } from "../../parts/icon.js";
import { Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { useAction } from "../../parts/use-action.js";
import { mayManage, workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { Merge } from "./merge.js";

const categories = ["SaaS", "Mobile App", "Desktop App", "Digital Asset"] as const;

type Sku = Pick<Product["providers"][number], "provider" | "external_id">;

interface Undo {
  readonly label: string;
  readonly run: () => void;
}

/** What was done last; gone with the page. */
const undo = signal<Undo | null>(null);

export function ProductDrawer(props: {
  readonly product: Product;
  readonly all: readonly Product[];
  /** Of the figures shown, in words. */
  readonly period: string;
}) {
  const view = useView();
  const { route } = useLocation();
  const { product, all } = props;
  const { error, run } = useAction();
  const isManager = mayManage(workspaceOf(view.workspace));
  const manage = `/v1/manage/workspaces/${view.workspace ?? ""}`;
  const base = `${manage}/products`;

  const change = (id: string, body: object): Promise<unknown> =>
    call("PATCH", `${base}/${id}`, { body });
  const skusOf = (of: Product): readonly Sku[] =>
    of.providers
      .filter(({ external_id: id }) => id !== "")
      .map(({ provider, external_id }) => ({ provider, external_id }));

  const act = (work: () => Promise<unknown>, back: Undo | null): void =>
    run(async () => {
      await work();
      undo.value = back;
    });

  const split = (sku: Sku): void => {
    const before = skusOf(product);
    const skus = before.filter(
      (one) => one.provider !== sku.provider || one.external_id !== sku.external_id,
    );
    act(() => change(product.id, { skus }), {
      label: `Put ${sku.external_id} back`,
      run: () => act(() => change(product.id, { skus: before }), null),
    });
  };

  const merged = (other: Product, activity: string): void => {
    undo.value = {
      label: `Separate ${other.name} again`,
      run: () => act(() => call("POST", `${manage}/activity/${activity}/undo`), null),
    };
  };

  return (
    <Drawer title={product.name} closeHref={view.with({ open: null })}>
      <Failure error={error} />
      {undo.value === null ? null : (
        <p>
          <button type="button" class="button" onClick={() => undo.value?.run()}>
            <Icon name="undo" /> {undo.value.label}
          </button>
        </p>
      )}
      <section>
        <Table
          caption="SKUs"
          rows={product.providers}
          rowKey={({ provider, external_id: id }) => `${provider} ${id}`}
          columns={[
            {
              head: "SKU",
              cell: ({ external_id: id }) => <span class="code">{id === "" ? "–" : id}</span>,
            },
            { head: "Provider", cell: (row) => providerName(row.provider) },
            {
              head: "Revenue",
              isNumber: true,
              cell: ({ revenue }) => money(revenue, product.currency),
            },
            { head: "Sales", isNumber: true, cell: ({ sales_count: sales }) => count(sales) },
            ...(isManager && product.providers.length > 1
              ? [
                  {
                    head: <span class="unseen">Split</span>,
                    cell: (sku: Sku) => (
                      <button type="button" class="button plain" onClick={() => split(sku)}>
                        Split off
                      </button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      </section>
      {isManager ? (
        <>
          <section>
            <h3>Name and category</h3>
            <form
              class="row-form"
              onSubmit={(event) => {
                event.preventDefault();
                const { name, category } = product;
                const changed = {
                  name: fieldOf(event.currentTarget, "name"),
                  category: fieldOf(event.currentTarget, "category"),
                };
                act(() => change(product.id, changed), {
                  label: `Back to ${name}`,
                  run: () => act(() => change(product.id, { name, category }), null),
                });
              }}
            >
              <input
                type="text"
                name="name"
                aria-label="Name"
                defaultValue={product.name}
                key={product.name}
                maxLength={200}
                required
              />
              <select name="category" aria-label="Category">
                {categories.map((name) => (
                  <option key={name} selected={name === product.category}>
                    {name}
                  </option>
                ))}
              </select>
              <button type="submit" class="button">
                Save
              </button>
            </form>
          </section>
          <section>
            <h3>Merge another product into this one</h3>
            <Merge
              product={product}
              all={all}
              period={props.period}
              base={base}
              onMerged={merged}
            />
          </section>
        </>
      ) : (
        <p class="soft">Administrators of the workspace rename, merge and split products.</p>
      )}
      <section>
        <button
          type="button"
          class="button"
          onClick={() => route(view.to("/transactions", { product: product.id }))}
        >
          Its transactions
        </button>
      </section>
    </Drawer>
  );
}
