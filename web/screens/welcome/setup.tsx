/**
 * The link that the first start prints: it counts once, and who opens it owns the installation. The
 * demo's link (`?now`) asks for no name: nobody else is there to see it.
 */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.js";
import { ActionForm } from "../../parts/action-form.js";
import { fieldOf } from "../../parts/field.js";
import { useAction } from "../../parts/use-action.js";
import { loadSession } from "../../state/session.js";

export function Setup() {
  const { route, query } = useLocation();
  const [isNow] = useState(query.now !== undefined);
  const action = useAction();
  // Out of the address at once: it must not stay in the history.
  const [token] = useState(takeToken);
  const open = async (name: string): Promise<void> => {
    await call("POST", "/v1/session/setup", {
      body: { token, ...(name === "" ? {} : { name }) },
    });
    await loadSession();
    route("/", true);
  };
  useEffect(() => {
    if (isNow && token !== "") action.run(() => open(""));
    // Once, when the page opens.
  }, []);
  if (isNow && token !== "" && action.error === null)
    return <p role="status">Opening the dashboard …</p>;
  return (
    <>
      <h1>Welcome</h1>
      {token === "" ? (
        <p>
          This page needs the whole link that <code>npm start</code> or{" "}
          <code>npm run ops -- sign-in-link</code> printed.
        </p>
      ) : (
        <ActionForm
          action={action}
          submit="Open the dashboard"
          class="stack"
          send={(form) => open(fieldOf(form, "name"))}
        >
          <label>
            Your name, as other members see it (empty: Owner, or as before)
            <input type="text" name="name" maxLength={200} autocomplete="name" />
          </label>
        </ActionForm>
      )}
    </>
  );
}

export function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== "") history.replaceState(null, "", location.pathname);
  return token;
}
