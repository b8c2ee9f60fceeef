/** Movements one by one, as they were recorded, and their sum: what a bar or a cell is made of. */
import type {
  ListedMovement,
  RecordedMovementsAnswer,
} from "../../../api/recorded-movements/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { countryName, planIntervalName, providerName } from "../../format/names.js";
import { count, signedMoney } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { ListTable } from "../../parts/list-table.js";
import { useListed } from "../../parts/pages.js";
import { Empty } from "../../parts/states.js";
import { type Column, orderIn } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { Bar } from "../../shell/bar.js";
import { SeveralMenu } from "../../shell/several-menu.js";
import { workspaceOf } from "../../state/session.js";
import { type View, mrrFilterNames, useView } from "../../state/view.js";
import { EventLink, MovementKind } from "../cells.js";
import { ExportMenu } from "../series-exports.js";
import { kinds } from "./kinds.js";

const path = "/v1/mrr-movements";

const sorts = ["-at", "at", "-mrr", "mrr"] as const;

export default function Movements() {
  const view = useView();
  const kind = view.get("kind");
  const account = view.get("account");
  const order = orderIn(view, sorts);
  const params = { ...view.range, ...view.mrrFilters, kind, account, sort: order.sort };
  const loaded = useAnswer(path, params);
  const { answer } = loaded;
  const list = useListed(loaded, path, params);
  return (
    <>
      <Bar title="Movements" controls={{ range: true, filters: mrrFilterNames }}>
        <SeveralMenu
          name="kind"
          label="Kind"
          all="All kinds"
          options={kinds.map(({ kind: value, label }) => ({ value, label }))}
        />
        <a class="button" href={view.to("/what-changed", { ...view.range, range: null })}>
          What changed
        </a>
        <ExportMenu path={path} params={params} />
      </Bar>
      <ListTable
        of={list}
        caption="Movements"
        order={order}
        columns={movementColumns(view, answer?.totals)}
      >
        <Empty title="No movements" action={{ href: view.to("/mrr"), label: "Back to MRR" }}>
          Nothing changed in this time with these filters.
        </Empty>
      </ListTable>
    </>
  );
}

function movementColumns(
  view: View,
  totals: RecordedMovementsAnswer["totals"] | undefined,
): readonly Column<ListedMovement>[] {
  const currency = workspaceOf(view.workspace)?.base_currency ?? "USD";
  return [
    {
      head: "Happened",
      sort: "-at",
      foot: totals && `All ${count(totals.movements)}`,
      cell: ({ at }) => <When at={at} />,
    },
    { head: "Kind", cell: ({ kind }) => <MovementKind kind={kind} /> },
    {
      head: "MRR",
      sort: "-mrr",
      isNumber: true,
      cell: ({ mrr }) => signedMoney(mrr, currency),
      foot: totals && signedMoney(totals.mrr, currency),
    },
    {
      head: "Account",
      cell: ({ account, customer }) => <AccountLink account={account} customer={customer} />,
    },
    { head: "Product", cell: ({ product_name: name }) => name },
    { head: "Billed", cell: ({ plan_interval: interval }) => planIntervalName(interval) },
    { head: "Provider", cell: ({ provider }) => providerName(provider) },
    { head: "Country", cell: ({ country }) => countryName(country) },
    { head: "Event", cell: ({ event_id: id }) => <EventLink id={id} /> },
  ];
}
