/** Who changed what, newest first. */
import { call } from "../../api/client.js";
import type { Activity as Row, Member } from "../../api/manage-answers.js";
import { providerName, shortId, words } from "../../format/names.js";
import { Confirm } from "../../parts/confirm.js";
import { ListTable } from "../../parts/list-table.js";
import { Empty } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { session } from "../../state/session.js";
import { useList, useManagePath, useMayManage } from "./manage.js";
import { When } from "../../parts/when.js";

export function Activity() {
  const path = `${useManagePath()}/activity`;
  const mayManage = useMayManage();
  return (
    <Changes
      path={path}
      undo={mayManage ? (id) => call("POST", `${path}/${id}/undo`) : undefined}
    />
  );
}

/** What concerns no workspace: sign-ins, links, backups. */
export function InstallationActivity() {
  return <Changes path="/v1/manage/activity" />;
}

function Changes(props: {
  readonly path: string;
  /** Left out: who looks may not. */
  readonly undo?: ((id: string) => Promise<unknown>) | undefined;
}) {
  const { path: of, undo } = props;
  const path = useManagePath();
  const list = useList<Row>(of);
  const members = useList<Member>(`${path}/members`, { limit: "200" });
  const now = session.value;
  const own = now.is === "in" ? now.session.user : null;
  const nameOf = (actor: string): string => {
    if (actor === "administrator") return "Administrator token";
    if (actor === own?.id) return own.name;
    return members.rows.find(({ id }) => id === actor)?.name ?? actor;
  };
  return (
    <>
      <div class="section-head">
        <p class="soft">Every change made here or by the API. Rows are never edited or removed.</p>
      </div>
      <ListTable
        of={list}
        caption="Activity, newest first"
        columns={[
          { head: "When", cell: (row) => <When at={row.at} /> },
          { head: "Who", cell: ({ actor }) => nameOf(actor) },
          { head: "What", cell: ({ action }) => actionWords(action) },
          { head: "Object", cell: ({ object }) => <code class="soft">{object}</code> },
          {
            head: "Request",
            cell: ({ request_id: id }) => (
              <code class="soft tight" title={id}>
                {shortId(id)}
              </code>
            ),
          },
          ...(undo === undefined
            ? []
            : [
                {
                  head: <span class="unseen">Undo</span>,
                  cell: (row: Row) =>
                    row.undo === null ? null : (
                      <Confirm
                        label="Undo"
                        of={`the merge into ${row.undo.product}`}
                        title="Undo this merge?"
                        isHarmless
                        act={() => undo(row.id)}
                      >
                        <Unmerged undo={row.undo} />
                      </Confirm>
                    ),
                },
              ]),
        ]}
      >
        <Empty title="No changes yet">The next change appears here.</Empty>
      </ListTable>
    </>
  );
}

/** What undoing a merge changes. */
function Unmerged({ undo }: { readonly undo: NonNullable<Row["undo"]> }) {
  return (
    <div class="stack">
      <p>
        These SKUs leave <strong>{undo.product}</strong>, and their figures with them, for the past
        too. The products they belonged to come back as they were.
      </p>
      <Table
        caption="What comes back"
        rows={undo.merged}
        rowKey={({ name }) => name}
        columns={[
          { head: "Product", cell: ({ name }) => name },
          {
            head: "SKUs",
            cell: ({ skus }) =>
              skus
                .map(({ provider, external_id: id }) => `${id} (${providerName(provider)})`)
                .join(", "),
          },
        ]}
      />
    </div>
  );
}

/** `key.created` → `Key created` */
function actionWords(action: string): string {
  return words(action.replace(".", "_"));
}
