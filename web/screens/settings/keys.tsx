/** API keys: made here, shown once, revoked at once. */
import { useState } from "preact/hooks";
import { call } from "../../api/client.js";
import type { CreatedKey, KeyView, One } from "../../api/manage-answers.js";
import { ActionForm } from "../../parts/action-form.js";
import { Confirm } from "../../parts/confirm.js";
import { Copy } from "../../parts/copy.js";
import { Dialog } from "../../parts/dialog.js";
import { fieldOf } from "../../parts/field.js";
import { ListTable } from "../../parts/list-table.js";
import { Empty } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { useView } from "../../state/view.js";
import { useList, useManagePath, useMayManage } from "./manage.js";
import { Roll } from "./roll.js";
import { When } from "../../parts/when.js";

export function Keys() {
  const path = `${useManagePath()}/keys`;
  const isManager = useMayManage();
  const [isNew, setNew] = useState(false);
  const [rolled, setRolled] = useState<KeyView | null>(null);
  const [made, setMade] = useState<CreatedKey | null>(null);
  const list = useList<KeyView>(path);
  return (
    <>
      <div class="section-head">
        <p class="soft">
          For programs that read figures or send events. A key belongs to one environment.{" "}
          <a href="/docs">All calls</a>
        </p>
        {isManager ? (
          <button type="button" class="button primary" onClick={() => setNew(true)}>
            Create a key
          </button>
        ) : null}
      </div>
      {made === null ? null : <Made made={made} />}
      <ListTable
        of={list}
        caption="API keys"
        columns={[
          {
            head: "Key",
            cell: ({ name, prefix }) => (
              <>
                <span class="cut">{name ?? "No name"}</span>
                <br />
                <code class="soft">{prefix}…</code>
              </>
            ),
          },
          { head: "Environment", cell: ({ environment }) => environment },
          { head: "Scope", cell: ({ scope }) => scope },
          { head: "Created", cell: (row) => <When at={row.created_at} /> },
          { head: "Last used", cell: (row) => <When at={row.last_used_at} /> },
          { head: "State", cell: (row) => <State of={row} /> },
          {
            head: <span class="unseen">Changes</span>,
            isNumber: true,
            cell: (row) =>
              isManager && !hasEnded(row) ? (
                <span class="row-form">
                  <button type="button" class="button" onClick={() => setRolled(row)}>
                    Roll<span class="unseen"> {row.name ?? row.prefix}</span>
                  </button>
                  <Confirm
                    label="Revoke"
                    of={row.name ?? row.prefix}
                    title={`Revoke ${row.name ?? row.prefix}?`}
                    act={() => call("DELETE", `${path}/${row.id}`)}
                  >
                    Calls with it are refused within 5 seconds. A revoked key cannot be brought
                    back.
                  </Confirm>
                </span>
              ) : null,
          },
        ]}
      >
        <Empty title="No keys yet">
          The dashboard needs none. Create one for each program that calls the API.
        </Empty>
      </ListTable>
      {isNew ? (
        <NewKey
          path={path}
          onMade={(key) => {
            setMade(key);
            setNew(false);
          }}
          onClose={() => setNew(false)}
        />
      ) : null}
      {rolled === null ? null : (
        <Roll
          title={`Roll ${rolled.name ?? rolled.prefix}`}
          what="key"
          roll={async (overlap) => {
            const body = { old_valid_for: overlap };
            const { data } = await call<One<CreatedKey>>("POST", `${path}/${rolled.id}/roll`, {
              body,
            });
            setMade(data);
            setRolled(null);
          }}
          onClose={() => setRolled(null)}
        />
      )}
    </>
  );
}

function hasEnded({ revoked_at, expires_at }: KeyView): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
}

function State({ of }: { readonly of: KeyView }) {
  if (of.revoked_at !== null) return <span class="status">Revoked</span>;
  if (of.expires_at === null) return <span class="status good">Valid</span>;
  return hasEnded(of) ? (
    <span class="status">Expired</span>
  ) : (
    <span class="status good">
      Until <When at={of.expires_at} />
    </span>
  );
}

function Made({ made }: { readonly made: CreatedKey }) {
  const example = made.scope === "Read-only" ? "/v1/metrics/mrr" : "/v1/transactions";
  return (
    <div class="notice" role="status">
      <p>
        <strong>Copy this key now. It is not shown again.</strong>
      </p>
      <Copy text={made.key} name="key" />
      <p>Used, for example:</p>
      <Copy
        text={`curl ${location.origin}${example} -H "Authorization: Bearer ${made.key}"`}
        name="example"
      />
    </div>
  );
}

function NewKey(props: {
  readonly path: string;
  readonly onMade: (key: CreatedKey) => void;
  readonly onClose: () => void;
}) {
  const view = useView();
  const action = useAction();
  const create = async (form: HTMLFormElement): Promise<void> => {
    const name = fieldOf(form, "name");
    const ends = fieldOf(form, "expires");
    const { data } = await call<One<CreatedKey>>("POST", props.path, {
      body: {
        environment: fieldOf(form, "environment"),
        scope: fieldOf(form, "scope"),
        ...(name === "" ? {} : { name }),
        ...(ends === "" ? {} : { expires_at: `${ends}T23:59:59Z` }),
      },
    });
    props.onMade(data);
  };
  return (
    <Dialog title="Create a key" onClose={props.onClose}>
      <ActionForm action={action} submit="Create" class="stack" send={(form) => create(form)}>
        <label>
          Name, such as the program that uses it
          <input type="text" name="name" maxLength={200} />
        </label>
        <label>
          Environment
          <select name="environment">
            <option value="Production">Production</option>
            <option value="Test" selected={view.environment === "test"}>
              Test
            </option>
          </select>
        </label>
        <label>
          Scope
          <select name="scope">
            <option value="Read-only">Read-only: reads figures and opens the stream</option>
            <option value="Full Ingress">Full Ingress: sends events, too</option>
          </select>
        </label>
        <label>
          Last day (empty: valid until you revoke it)
          <input type="date" name="expires" min={new Date().toISOString().slice(0, 10)} />
        </label>
      </ActionForm>
    </Dialog>
  );
}
