/** Programs connected over /mcp: one's own in all workspaces, and all of this workspace. */
import type { AssistantView } from "../../../schemas/http/assistants.js";
import { call } from "../../api/client.js";
import type { Member } from "../../api/manage-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { Confirm } from "../../parts/confirm.js";
import { Copy } from "../../parts/copy.js";
import { ListTable } from "../../parts/list-table.js";
import { whole } from "../../parts/pages.js";
import { Empty } from "../../parts/states.js";
import type { Column } from "../../parts/table.js";
import { When } from "../../parts/when.js";
import { workspaceOf } from "../../state/session.js";
import { useList, useManagePath, useMayManage } from "./manage.js";

const own = "/v1/session/assistants";

export function Assistants() {
  const list = whole(useUrl<{ data: readonly AssistantView[] }>(own));
  return (
    <>
      <div class="section-head">
        <p class="soft">
          Programs that ask this service in your name. Give one the address below, and it sends you
          here to allow it. <a href="/docs/mcp.md">What they can ask</a>
        </p>
      </div>
      <p class="section-head">
        <Copy text={`${location.origin}/mcp`} name="address" />
      </p>
      <ListTable
        of={list}
        caption="Your assistants"
        columns={columnsOf(own, {
          head: "Workspace",
          cell: ({ workspace }) => (
            <span class="cut">{workspaceOf(workspace)?.name ?? workspace}</span>
          ),
        })}
      >
        <Empty title="You have connected none">One that you allow appears here.</Empty>
      </ListTable>
      {useMayManage() ? <OfWorkspace /> : null}
    </>
  );
}

function OfWorkspace() {
  const path = useManagePath();
  const list = useList<AssistantView>(`${path}/assistants`);
  const members = useList<Member>(`${path}/members`, { limit: "200" });
  return (
    <section class="settings-section">
      <h2>All of this workspace</h2>
      <ListTable
        of={list}
        caption="Assistants of the workspace"
        columns={columnsOf(`${path}/assistants`, {
          head: "Member",
          cell: ({ member }) => (
            <span class="cut">{members.rows.find(({ id }) => id === member)?.name ?? member}</span>
          ),
        })}
      >
        <p class="soft">No member has connected one.</p>
      </ListTable>
    </section>
  );
}

/** @param path what one is disconnected under @param more whose they are */
function columnsOf(path: string, more: Column<AssistantView>): Column<AssistantView>[] {
  return [
    { head: "Assistant", cell: ({ client }) => <span class="cut">{client}</span> },
    more,
    {
      head: "May",
      cell: ({ environment, may_write }) =>
        `read ${environment}${may_write ? ", make alerts and annotations" : ""}`,
    },
    { head: "Since", cell: (row) => <When at={row.created_at} /> },
    { head: "Last used", cell: (row) => <When at={row.last_used_at} /> },
    {
      head: <span class="unseen">Disconnect</span>,
      isNumber: true,
      cell: ({ id, client }) => (
        <Confirm
          label="Disconnect"
          of={client}
          title="Disconnect this assistant?"
          act={() => call("DELETE", `${path}/${id}`)}
        >
          Its next question is refused. It can be connected again.
        </Confirm>
      ),
    },
  ];
}
