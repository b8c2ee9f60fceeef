/** A workspace: its name, and the currency its figures are in. */
import { useLocation } from "preact-iso";
import { call } from "../../api/client.js";
import { ActionForm } from "../../parts/action-form.js";
import { fieldOf } from "../../parts/field.js";
import { OpenDemo } from "../../parts/open-demo.js";
import { Slow } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { type Workspace, loadSession, session } from "../../state/session.js";

const currencies = ["USD", "EUR", "GBP", "INR", "JPY"] as const;

export function NewWorkspace() {
  const { route } = useLocation();
  const action = useAction();
  const now = session.value;
  if (now.is === "out") {
    return (
      <p>
        <a href="/sign-in">Sign in</a>
      </p>
    );
  }
  if (now.is !== "in") return <Slow />;
  const { user, workspaces } = now.session;
  if (!user.creates_workspaces) {
    return (
      <>
        <h1>{workspaces.length === 0 ? "No workspace yet" : "New workspace"}</h1>
        <p>Ask an owner of this installation to create a workspace or to invite you to one.</p>
      </>
    );
  }
  const create = async (form: HTMLFormElement): Promise<void> => {
    const { data } = await call<{ data: Workspace }>("POST", "/v1/manage/workspaces", {
      body: { name: fieldOf(form, "name"), base_currency: fieldOf(form, "currency") },
    });
    await loadSession();
    route(`/settings/integrations?workspace=${data.id}`);
  };
  return (
    <>
      <h1>{workspaces.length === 0 ? "Create your workspace" : "New workspace"}</h1>
      <p class="soft">A workspace holds the figures of one business, from all its providers.</p>
      <ActionForm action={action} submit="Create" class="stack" send={(form) => create(form)}>
        <label>
          Name
          <input
            type="text"
            name="name"
            maxLength={200}
            required
            autocomplete="organization"
            placeholder="Your company"
          />
        </label>
        <label>
          Currency of all figures (cannot be changed later)
          <select name="currency">
            {currencies.map((code) => (
              <option key={code}>{code}</option>
            ))}
          </select>
        </label>
      </ActionForm>
      <p class="soft">Or look at two years of an invented business first:</p>
      <OpenDemo />
    </>
  );
}
