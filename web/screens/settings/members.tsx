/** Members with their roles, and invitations. */
import { useState } from "preact/hooks";
import { call } from "../../api/client.js";
import type { CreatedInvitation, Invitation, Member, One } from "../../api/manage-answers.js";
import { moment } from "../../format/dates.js";
import { words } from "../../format/names.js";
import { ActionForm } from "../../parts/action-form.js";
import { Confirm } from "../../parts/confirm.js";
import { Copy } from "../../parts/copy.js";
import { fieldOf } from "../../parts/field.js";
import { ListTable } from "../../parts/list-table.js";
import { Options } from "../../parts/options.js";
import { Failure } from "../../parts/states.js";
import { type Action, useAction } from "../../parts/use-action.js";
import { loadSession, session, workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { useList, useManagePath, useMayManage } from "./manage.js";
import { When } from "../../parts/when.js";

const roles = ["viewer", "admin", "owner"] as const;
type Role = (typeof roles)[number];

const roleMeanings = {
  viewer: "reads everything",
  admin: "also manages integrations, keys, products and members",
  owner: "also manages the workspace and owners",
} as const;

export function Members() {
  const view = useView();
  const path = useManagePath();
  const isManager = useMayManage();
  const action = useAction();
  const list = useList<Member>(`${path}/members`);
  const now = session.value;
  const ownId = now.is === "in" ? now.session.user.id : "";
  const ownRole = workspaceOf(view.workspace)?.role ?? "viewer";
  const grantable = roles.slice(0, roles.indexOf(ownRole) + 1);
  return (
    <>
      <Failure error={action.error} />
      <ListTable
        of={list}
        caption="Members"
        columns={[
          {
            head: "Member",
            cell: ({ id, name, email }) => (
              <>
                <span class="cut">{name}</span>
                {id === ownId ? <span class="soft"> (you)</span> : null}
                {email === null ? null : <div class="soft small">{email}</div>}
              </>
            ),
          },
          {
            head: "Role",
            cell: (row) => (
              <RoleCell
                of={row}
                roles={isManager && grantable.includes(row.role) ? grantable : []}
                action={action}
                path={`${path}/members/${row.id}`}
              />
            ),
          },
          { head: "Since", cell: (row) => <When at={row.created_at} /> },
          {
            head: <span class="unseen">Remove</span>,
            isNumber: true,
            cell: (row) =>
              row.id === ownId || (isManager && grantable.includes(row.role)) ? (
                <Confirm
                  label={row.id === ownId ? "Leave" : "Remove"}
                  of={row.name}
                  title={row.id === ownId ? "Leave this workspace?" : `Remove ${row.name}?`}
                  act={async () => {
                    await call("DELETE", `${path}/members/${row.id}`);
                    if (row.id === ownId) await loadSession();
                  }}
                >
                  Open pages lose access within seconds. A new invitation is needed to come back.
                </Confirm>
              ) : null,
          },
        ]}
      />
      {isManager ? <Invitations path={`${path}/invitations`} roles={grantable} /> : null}
    </>
  );
}

function RoleCell(props: {
  readonly of: Member;
  /** Those that may be given; none: it cannot be changed. */
  readonly roles: readonly Role[];
  readonly action: Action;
  readonly path: string;
}) {
  const { of, action } = props;
  if (props.roles.length === 0) return <>{words(of.role)}</>;
  return (
    <select
      aria-label={`Role of ${of.name}`}
      value={of.role}
      disabled={action.isBusy}
      onChange={(event) => {
        const role = event.currentTarget.value;
        // Shown as it is until the service says otherwise.
        event.currentTarget.value = of.role;
        action.run(() => call("PATCH", props.path, { body: { role } }));
      }}
    >
      <Options of={props.roles.map((role) => [role, words(role)])} />
    </select>
  );
}

function Invitations({ path, roles: given }: { path: string; roles: readonly Role[] }) {
  const action = useAction();
  const [made, setMade] = useState<CreatedInvitation | null>(null);
  const list = useList<Invitation>(path);
  const invite = async (form: HTMLFormElement): Promise<void> => {
    const who = fieldOf(form, "who");
    const bound = who === "" ? {} : who.includes("@") ? { email: who } : { domain: who };
    const { data } = await call<One<CreatedInvitation>>("POST", path, {
      body: { role: fieldOf(form, "role"), ...bound },
    });
    setMade(data);
    form.reset();
  };
  return (
    <section class="settings-section">
      <h2>Invite somebody</h2>
      <ActionForm action={action} class="row-form bottom" send={(form) => invite(form)}>
        <label>
          Role
          <select name="role">
            <Options of={given.map((role) => [role, `${words(role)}: ${roleMeanings[role]}`])} />
          </select>
        </label>
        <label>
          Only this e-mail or domain <span class="soft">(optional)</span>
          <input type="text" name="who" placeholder="example.com" />
        </label>
        <button type="submit" class="button primary" disabled={action.isBusy}>
          Make a link
        </button>
      </ActionForm>
      {made === null ? null : (
        <div class="notice" role="status">
          <p>
            <strong>Send this link. It works once, until {moment(made.expires_at)}.</strong>
          </p>
          <Copy text={made.url} name="invitation" />
        </div>
      )}
      <ListTable
        of={list}
        caption="Open invitations"
        columns={[
          {
            head: "Open invitation for",
            cell: ({ email, domain }) => email ?? domain ?? "Whoever has the link",
          },
          { head: "Role", cell: ({ role }) => words(role) },
          { head: "Until", cell: (row) => <When at={row.expires_at} /> },
          {
            head: <span class="unseen">Revoke</span>,
            isNumber: true,
            cell: (row) => (
              <Confirm
                label="Revoke"
                of={`invitation for ${row.email ?? row.domain ?? "whoever has the link"}`}
                title="Revoke this invitation?"
                act={() => call("DELETE", `${path}/${row.id}`)}
              >
                Its link stops working at once.
              </Confirm>
            ),
          },
        ]}
      />
    </section>
  );
}
