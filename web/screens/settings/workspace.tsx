/** The workspace itself. */
import { call } from "../../api/client.js";
import { fieldOf } from "../../parts/field.js";
import { Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { loadSession, workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { useManagePath } from "./manage.js";

export function WorkspaceSettings() {
  const path = useManagePath();
  const workspace = workspaceOf(useView().workspace);
  const action = useAction();
  if (workspace === null) return null;
  const rename = async (name: string): Promise<void> => {
    await call("PATCH", path, { body: { name } });
    await loadSession();
  };
  return (
    <>
      {action.error === null ? null : <Failure error={action.error} />}
      {workspace.role === "owner" ? (
        <form
          class="row-form bottom settings-section"
          onSubmit={(event) => {
            event.preventDefault();
            const name = fieldOf(event.currentTarget, "name");
            action.run(() => rename(name));
          }}
        >
          <label>
            Name
            <br />
            <input type="text" name="name" maxLength={200} required value={workspace.name} />
          </label>
          <button type="submit" class="button" disabled={action.isBusy}>
            Rename
          </button>
        </form>
      ) : null}
      <dl class="facts settings-section">
        {workspace.role === "owner" ? null : (
          <>
            <dt>Name</dt>
            <dd>{workspace.name}</dd>
          </>
        )}
        <dt>Currency</dt>
        <dd>
          {workspace.base_currency}
          <span class="soft">: every amount was converted to it once; it cannot be changed</span>
        </dd>
        <dt>Your role</dt>
        <dd>{workspace.role}</dd>
        <dt>ID</dt>
        <dd>
          <code>{workspace.id}</code>
        </dd>
      </dl>
    </>
  );
}
