/** Accounts that ever had MRR, in the part that the filters choose, the largest first. */
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useAnswer } from "../../api/use-answer.js";
import { vintageName } from "../../format/dates.js";
import { providerName } from "../../format/names.js";
import { money } from "../../format/numbers.js";
import { OneOfMenu, oneOf } from "../../parts/menu.js";
import { AccountLink } from "../../parts/customer.js";
import { ListTable } from "../../parts/list-table.js";
import { useListed } from "../../parts/pages.js";
import { Empty } from "../../parts/states.js";
import { Search } from "../../parts/search.js";
import { Table, orderIn } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { Bar } from "../../shell/bar.js";
import { mrrFilterNames, useView } from "../../state/view.js";
import { AccountState } from "../cells.js";
import { connectAction } from "../connect-action.js";
import { ExportMenu } from "../series-exports.js";

const path = "/v1/accounts";
const actives = oneOf("active", "any", {
  any: "All accounts",
  true: "Active",
  false: "Not active",
});

const sorts = ["-mrr", "mrr", "-first_at", "first_at", "-last_at", "last_at"] as const;

export default function Accounts() {
  const view = useView();
  const active = view.get("active");
  const search = view.get("search");
  const order = orderIn(view, sorts);
  const params = { ...view.mrrFilters, active, search, sort: order.sort };
  const loaded = useAnswer(path, params);
  const { answer, isStale } = loaded;
  const list = useListed(loaded, path, params);
  const { route } = useLocation();
  // The palette was given an exact id or e-mail: who alone has it is opened. What is still shown of
  // another search is not meant.
  const others = answer?.without_mrr ?? [];
  const found = [...(answer?.data ?? []), ...others];
  const rows = view.get("open") === "only" && !isStale ? found : [];
  const only = rows.length === 1 ? rows[0] : undefined;
  useEffect(() => {
    if (only) route(view.to(`/accounts/${encodeURIComponent(only.id)}`), true);
  }, [only?.id]);
  return (
    <>
      <Bar title="Accounts" controls={{ filters: mrrFilterNames }}>
        <OneOfMenu name="State" of={actives} />
        <Search label="Exact e-mail or id (not a name)" value={search} />
        <ExportMenu path={path} params={params} />
      </Bar>
      <ListTable
        of={list}
        caption="Accounts"
        order={order}
        columns={[
          {
            head: "Account",
            cell: ({ id, customer }) => <AccountLink account={id} customer={customer} isWhole />,
          },
          { head: "State", cell: (row) => <AccountState active={row.active} /> },
          {
            head: "MRR",
            sort: "-mrr",
            isNumber: true,
            cell: ({ mrr, currency }) => money(mrr, currency),
          },
          {
            head: "Began with",
            isNumber: true,
            cell: (row) => money(row.starting_mrr, row.currency),
          },
          { head: "Began in", sort: "-first_at", cell: (row) => vintageName(row.vintage) },
          { head: "Last movement", sort: "-last_at", cell: (row) => <When at={row.last_at} /> },
          { head: "Provider", cell: (row) => providerName(row.provider) },
        ]}
      >
        {search === null ? (
          <Empty title="No accounts" action={connectAction(view)}>
            An account appears when a customer first has MRR.
          </Empty>
        ) : null}
        {found.length === 0 && search !== null ? (
          <Empty
            title="Nobody found"
            action={{
              href: view.to(`/accounts/${encodeURIComponent(search)}`),
              label: "Open it as the id of an account",
            }}
          >
            No customer has this id or e-mail, and none paid anything with it. Enter the whole
            e-mail or id: names are not searched. Filters and the state narrow the search, too.
          </Empty>
        ) : null}
      </ListTable>
      {others.length === 0 ? null : (
        <>
          <h2 class="table-title">Never had MRR</h2>
          <Table
            caption="Never had MRR"
            rows={others}
            rowKey={({ id }) => id}
            columns={[
              {
                head: "Account",
                cell: ({ id, customer }) => (
                  <AccountLink account={id} customer={customer} isWhole />
                ),
              },
              { head: "Provider", cell: (row) => providerName(row.provider) },
            ]}
          />
        </>
      )}
    </>
  );
}
