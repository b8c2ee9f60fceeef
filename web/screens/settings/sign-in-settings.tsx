/** How somebody signs in, and where they are signed in. */
import { call } from "../../api/client.js";
import type { ListedSession, One, Passkey } from "../../api/manage-answers.js";
import { addPasskey } from "../../api/passkeys.js";
import type { SignInProvider } from "../../api/session-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { words } from "../../format/names.js";
import { ActionButton } from "../../parts/action-form.js";
import { Confirm } from "../../parts/confirm.js";
import { ListTable } from "../../parts/list-table.js";
import { whole } from "../../parts/pages.js";
import { Empty, Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { loadSession } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { When } from "../../parts/when.js";

export function SignInSettings() {
  return (
    <>
      <Passkeys />
      <AddProvider />
      <Sessions />
    </>
  );
}

const passkeys = "/v1/session/passkeys";

function Passkeys() {
  const action = useAction();
  const list = whole(useUrl<{ data: readonly Passkey[] }>(passkeys));
  return (
    <section class="settings-section">
      <div class="section-head">
        <h2>Passkeys</h2>
        <ActionButton action={action} act={() => addPasskey({})}>
          Add a passkey
        </ActionButton>
      </div>
      <Failure error={action.error} />
      <ListTable
        of={list}
        caption="Passkeys"
        columns={[
          { head: "Passkey", cell: ({ name }) => name ?? "Passkey" },
          { head: "Added", cell: (row) => <When at={row.created_at} /> },
          { head: "Last used", cell: (row) => <When at={row.last_used_at} /> },
          {
            head: <span class="unseen">Delete</span>,
            isNumber: true,
            cell: ({ id, name }) => (
              <Confirm
                label="Delete"
                of={name ?? "passkey"}
                title="Delete this passkey?"
                act={() => call("DELETE", `${passkeys}/${id}`)}
              >
                It no longer signs you in. Your device may keep it; remove it there, too.
              </Confirm>
            ),
          },
        ]}
      >
        <Empty title="No passkey yet">
          With one you sign in again without a link; it is kept by this device or its password
          manager.
        </Empty>
      </ListTable>
    </section>
  );
}

function AddProvider() {
  const view = useView();
  const action = useAction();
  const { answer } = useUrl<{ data: readonly SignInProvider[] }>("/v1/session/providers");
  if (answer === null || answer.data.length === 0) return null;
  const begin = async (provider: string): Promise<void> => {
    const { data } = await call<One<{ url: string }>>("POST", "/v1/session/identities", {
      body: { provider, return_to: view.to("/settings/sign-in") },
    });
    location.assign(data.url);
  };
  return (
    <section class="settings-section">
      <h2>Identity providers</h2>
      <p class="soft">Add one, and it signs you in from then on.</p>
      <Failure error={action.error} />
      <p class="row-form">
        {answer.data.map(({ name, label }) => (
          <ActionButton key={name} action={action} act={() => begin(name)}>
            Add {label}
          </ActionButton>
        ))}
      </p>
    </section>
  );
}

const sessions = "/v1/session/sessions";

function Sessions() {
  const list = whole(useUrl<{ data: readonly ListedSession[] }>(sessions));
  return (
    <section class="settings-section">
      <h2>Where you are signed in</h2>
      <ListTable
        of={list}
        caption="Sessions"
        columns={[
          {
            head: "By",
            cell: (row) => (
              <>
                {words(row.began_by)}
                {row.current ? <span class="soft"> (this one)</span> : null}
              </>
            ),
          },
          { head: "Since", cell: (row) => <When at={row.created_at} /> },
          { head: "Last seen", cell: (row) => <When at={row.last_seen_at} /> },
          { head: "Ends", cell: (row) => <When at={row.expires_at} /> },
          {
            head: <span class="unseen">End</span>,
            isNumber: true,
            cell: (row) => (
              <Confirm
                label="End"
                of={`session since ${row.created_at}`}
                title="End this session?"
                act={async () => {
                  await call("DELETE", `${sessions}/${row.id}`);
                  if (row.current) await loadSession();
                }}
              >
                {row.current ? "You are signed out here." : "That browser is signed out."}
              </Confirm>
            ),
          },
        ]}
      />
    </section>
  );
}
