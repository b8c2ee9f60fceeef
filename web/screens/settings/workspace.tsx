/** The workspace itself. */
import type { WorkspaceSettings as Settings } from "../../../schemas/http/manage.js";
import { call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { reloadAnswers, useUrl } from "../../api/use-answer.js";
import { ActionForm } from "../../parts/action-form.js";
import { Confirm } from "../../parts/confirm.js";
import { Fact } from "../../parts/fact.js";
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
  const { answer, error } = useUrl<One<Settings>>(workspace === null ? null : `${path}/settings`);
  const details = answer?.data.customer_details ?? null;
  if (workspace === null) return null;
  const rename = async (name: string): Promise<void> => {
    await call("PATCH", path, { body: { name } });
    await loadSession();
  };
  return (
    <>
      {workspace.role === "owner" ? (
        <ActionForm
          action={action}
          class="row-form bottom settings-section"
          send={(form) => rename(fieldOf(form, "name"))}
        >
          <label>
            Name
            <input type="text" name="name" maxLength={200} required value={workspace.name} />
          </label>
          <button type="submit" class="button" disabled={action.isBusy}>
            Rename
          </button>
        </ActionForm>
      ) : null}
      <Failure error={error} />
      {workspace.role === "owner" && details !== null ? (
        <CustomerDetails path={path} details={details} />
      ) : null}
      <dl class="facts settings-section">
        {workspace.role === "owner" ? null : <Fact name="Name">{workspace.name}</Fact>}
        <Fact name="Currency">
          {workspace.base_currency}
          <span class="soft">: every amount was converted to it once; it cannot be changed</span>
        </Fact>
        {workspace.role === "owner" || details === null ? null : (
          <Fact name="Customers’ names and e-mails">{detailsLabels[details]}</Fact>
        )}
        <Fact name="Your role">{workspace.role}</Fact>
        <Fact name="ID">
          <code>{workspace.id}</code>
        </Fact>
      </dl>
    </>
  );
}

type Details = Settings["customer_details"];

const detailsLabels: Readonly<Record<Details, string>> = {
  members: "All members see them",
  admins: "Admins and owners see them",
  off: "Nothing is kept",
};

/** Who sees customers by name. `off` erases, so it asks first. */
function CustomerDetails({ path, details }: { readonly path: string; readonly details: Details }) {
  const action = useAction();
  const change = async (to: Details): Promise<void> => {
    await call("PATCH", path, { body: { customer_details: to } });
    reloadAnswers();
  };
  return (
    <section class="settings-section">
      <Failure error={action.error} />
      <div class="row-form bottom">
        <label>
          Customers’ names and e-mails
          <select
            name="customer_details"
            value={details}
            disabled={action.isBusy}
            onChange={(event) => {
              const to = event.currentTarget.value === "admins" ? "admins" : "members";
              action.run(() => change(to));
            }}
          >
            <option value="members">{detailsLabels.members}</option>
            <option value="admins">{detailsLabels.admins}</option>
            {details === "off" ? <option value="off">{detailsLabels.off}</option> : null}
          </select>
        </label>
        {details === "off" ? null : (
          <Confirm
            label="Erase and keep none"
            title="Erase all names and e-mails?"
            act={() => change("off")}
          >
            The names, e-mails and ids of all customers of this workspace are erased, and none are
            kept from now on. If you turn it on again, they come back as providers report them.
          </Confirm>
        )}
      </div>
      <p class="soft small">
        Kept encrypted, for members only. API keys and the stream never have them.
      </p>
    </section>
  );
}
