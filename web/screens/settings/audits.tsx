/** Audits: everything booked, compared with what the events say. */
import type { AuditList, AuditView } from "../../api/manage-answers.js";
import { call } from "../../api/client.js";
import { useUrl } from "../../api/use-answer.js";
import { words } from "../../format/names.js";
import { count } from "../../format/numbers.js";
import { ActionButton } from "../../parts/action-form.js";
import { ListTable } from "../../parts/list-table.js";
import { listed, usePages } from "../../parts/pages.js";
import { Empty, Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { session } from "../../state/session.js";
import { When } from "../../parts/when.js";

const path = "/v1/manage/audits";

const states = {
  waiting: { name: "Waiting", mark: "waiting" },
  running: { name: "Running", mark: "waiting" },
  clean: { name: "No differences", mark: "good" },
  different: { name: "Differences", mark: "bad" },
  failed: { name: "Failed", mark: "bad" },
} as const;

export function Audits() {
  const action = useAction();
  const loaded = useUrl<AuditList>(path);
  const list = listed(loaded, usePages<AuditView>(path, {}, loaded.answer));
  return (
    <>
      <div class="section-head">
        <p class="soft">
          Each night everything that is booked is worked out once more from its events, and
          compared.
        </p>
        <ActionButton action={action} act={() => call("POST", path, { body: {} })}>
          Audit everything now
        </ActionButton>
      </div>
      <Failure error={action.error} />
      {loaded.answer?.overdue === true ? (
        <p class="test-note" role="status">
          No audit of everything has ended for 26 hours.
        </p>
      ) : null}
      <ListTable
        of={list}
        caption="Audits, newest first"
        columns={[
          { head: "Asked for", cell: (row) => <When at={row.created_at} /> },
          { head: "By", cell: ({ asked_by: by }) => words(by) },
          { head: "Of", cell: ({ workspace }) => nameOf(workspace) },
          { head: "Result", cell: (row) => <Result of={row} /> },
          { head: "Rows compared", isNumber: true, cell: (row) => count(row.rows_compared) },
          { head: "Differences", isNumber: true, cell: (row) => count(row.differences) },
          { head: "Ended", cell: (row) => <When at={row.ended_at} none="Not yet" /> },
        ]}
      >
        <Empty title="No audits yet">The first one runs at night, or when you ask for it.</Empty>
      </ListTable>
    </>
  );
}

function Result({ of }: { readonly of: AuditView }) {
  const { name, mark } = states[of.state];
  return (
    <>
      <span class={`status ${mark}`}>{name}</span>
      {of.failure === null ? null : <p class="small loss">{of.failure}</p>}
    </>
  );
}

function nameOf(workspace: string | null): string {
  if (workspace === null) return "Everything";
  const now = session.value;
  const known = now.is === "in" ? now.session.workspaces : [];
  return known.find(({ id }) => id === workspace)?.name ?? workspace;
}
