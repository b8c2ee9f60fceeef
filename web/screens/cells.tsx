/** Cells and columns that tables of several screens have. */
import type { EventAnswer } from "../../api/events/schema.js";
import { shortId, words } from "../format/names.js";
import { signedMoney } from "../format/numbers.js";
import type { Column } from "../parts/table.js";
import { When } from "../parts/when.js";
import { useView } from "../state/view.js";

export function EventLink({ id }: { readonly id: string }) {
  const view = useView();
  return (
    <a class="code" href={view.to(`/events/${id}`)}>
      {shortId(id)}
    </a>
  );
}

/** Of a movement of MRR. */
export function MovementKind({ kind }: { readonly kind: string }) {
  return (
    <span class="tight">
      <span class={`mark tone-${kind}`} />
      {words(kind)}
    </span>
  );
}

export function AccountState({ active }: { readonly active: boolean }) {
  return (
    <span class={active ? "status good" : "status waiting"}>
      {active ? "Active" : "Not active"}
    </span>
  );
}

export const entryColumns: readonly Column<EventAnswer["data"]["ledger"][number]>[] = [
  { head: "Happened", cell: (row) => <When at={row.happened_at} /> },
  {
    head: "Amount",
    isNumber: true,
    cell: (row) => signedMoney(row.original_amount, row.original_currency),
  },
  { head: "Converted", isNumber: true, cell: (row) => signedMoney(row.amount, row.base_currency) },
];
