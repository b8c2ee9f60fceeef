/** Transactions, newest first unless another order is asked for; one opens in a drawer. */
import { useAnswer } from "../../api/use-answer.js";
import { countryName, providerName, words } from "../../format/names.js";
import { money } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { ListTable } from "../../parts/list-table.js";
import { useListed } from "../../parts/pages.js";
import { Empty } from "../../parts/states.js";
import { Search } from "../../parts/search.js";
import { orderIn } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { Bar } from "../../shell/bar.js";
import { SeveralMenu } from "../../shell/several-menu.js";
import { filterNames, useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";
import { ExportMenu } from "../series-exports.js";
import { Status } from "./status.js";
import { TransactionDrawer } from "./transaction-drawer.js";

const path = "/v1/transactions";
const statuses = ["succeeded", "refunded", "disputed"] as const;
const sorts = ["-timestamp", "timestamp", "-normalized_amount", "normalized_amount"] as const;
const types = ["subscription", "one_time", "refund"] as const;

export default function Transactions() {
  const view = useView();
  const open = view.get("open");
  const status = view.get("status");
  const type = view.get("type");
  const search = view.get("search");
  const account = view.get("account");
  // What is looked for by its id is found whenever it was paid.
  const isOne = search !== null || account !== null;
  const order = orderIn(view, sorts);
  const params = {
    ...(isOne ? {} : view.range),
    ...view.filters,
    status,
    type,
    search,
    account,
    sort: order.sort,
  };
  const list = useListed(useAnswer(path, params), path, params);
  return (
    <>
      <Bar title="Transactions" controls={{ range: !isOne, filters: filterNames }}>
        <SeveralMenu
          name="status"
          label="Status"
          all="All statuses"
          options={statuses.map((value) => ({ value, label: words(value) }))}
        />
        <SeveralMenu
          name="type"
          label="Type"
          all="All types"
          options={types.map((value) => ({ value, label: words(value) }))}
        />
        <Search label="Payment id at the provider" value={search} />
        <ExportMenu path={path} params={params} />
      </Bar>
      <ListTable
        of={list}
        caption="Transactions"
        order={order}
        isCurrent={({ id }) => id === open}
        columns={[
          {
            head: "Paid",
            sort: "-timestamp",
            cell: (row) => (
              <a class="row-link" href={view.with({ open: row.id })}>
                <When at={row.timestamp} />
              </a>
            ),
          },
          {
            head: "Product",
            cell: (row) => (
              <a class="row-link" href={view.with({ open: row.id })}>
                {row.product_name}
              </a>
            ),
          },
          {
            head: "Amount",
            isNumber: true,
            cell: (row) => money(row.gross_amount, row.original_currency),
          },
          {
            head: "Converted",
            sort: "-normalized_amount",
            isNumber: true,
            cell: (row) => money(row.normalized_amount, row.base_currency),
          },
          {
            head: "Account",
            cell: ({ account: of, customer }) => <AccountLink account={of} customer={customer} />,
          },
          { head: "Status", cell: (row) => <Status of={row} /> },
          { head: "Type", cell: ({ type: kind }) => words(kind) },
          { head: "Provider", cell: ({ provider }) => providerName(provider) },
          { head: "Country", cell: ({ customer_country: country }) => countryName(country) },
        ]}
      >
        <Empty title="No transactions" action={connectAction(view)}>
          {search === null
            ? "Choose a longer range or fewer filters, or connect a provider."
            : "No provider knows a payment, an invoice or an order by this id."}
        </Empty>
      </ListTable>
      {open === null ? null : <TransactionDrawer id={open} />}
    </>
  );
}
