/** Who changed what, newest first. */
import type { Activity as Row, Member } from "../../api/manage-answers.js";
import { shortId, words } from "../../format/names.js";
import { More } from "../../parts/pages.js";
import { Empty, Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { session } from "../../state/session.js";
import { useList, useManagePath } from "./manage.js";
import { When } from "../../parts/when.js";

export function Activity() {
  return <Changes path={`${useManagePath()}/activity`} />;
}

/** What concerns no workspace: sign-ins, links, backups. */
export function InstallationActivity() {
  return <Changes path="/v1/manage/activity" />;
}

function Changes({ path: of }: { readonly path: string }) {
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
      {list.error === null ? null : <Failure error={list.error} />}
      {list.isLoading ? <SkeletonTable rows={8} columns={4} /> : null}
      {!list.isLoading && list.error === null && list.rows.length === 0 ? (
        <Empty title="No changes yet">The next change appears here.</Empty>
      ) : null}
      {list.rows.length === 0 ? null : (
        <Table
          caption="Activity, newest first"
          rows={list.rows}
          rowKey={({ id }) => id}
          columns={[
            { key: "at", head: "When", cell: (row) => <When at={row.at} /> },
            { key: "who", head: "Who", cell: ({ actor }) => nameOf(actor) },
            { key: "what", head: "What", cell: ({ action }) => actionWords(action) },
            {
              key: "object",
              head: "Object",
              cell: ({ object }) => <code class="soft">{object}</code>,
            },
            {
              key: "request",
              head: "Request",
              cell: ({ request_id: id }) => (
                <code class="soft tight" title={id}>
                  {shortId(id)}
                </code>
              ),
            },
          ]}
        />
      )}
      <More of={list.rest} />
    </>
  );
}

/** `key.created` → `Key created` */
function actionWords(action: string): string {
  return words(action.replace(".", "_"));
}
