/**
 * The link that the first start prints: it counts once, and who opens it owns the installation. The
 * demo's link (`?now`) asks for no name: nobody else is there to see it.
 */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { CallError, call } from "../../api/client.js";
import { fieldOf } from "../../parts/field.js";
import { Failure } from "../../parts/states.js";
import { loadSession } from "../../state/session.js";

export function Setup() {
  const { route, query } = useLocation();
  const [isNow] = useState(query.now !== undefined);
  const [error, setError] = useState<CallError | null>(null);
  // Out of the address at once: it must not stay in the history.
  const [token] = useState(takeToken);
  const open = async (name: string): Promise<void> => {
    try {
      await call("POST", "/v1/session/setup", {
        body: { token, ...(name === "" ? {} : { name }) },
      });
      await loadSession();
      route("/", true);
    } catch (thrown) {
      setError(CallError.of(thrown));
    }
  };
  useEffect(() => {
    if (isNow && token !== "") void open("");
    // Once, when the page opens.
  }, []);
  if (isNow && token !== "" && error === null) return <p role="status">Opening the dashboard …</p>;
  return (
    <>
      <h1>Welcome</h1>
      {error === null ? null : <Failure error={error} />}
      {token === "" ? (
        <p>
          This page needs the whole link that <code>npm start</code> or{" "}
          <code>npm run ops -- sign-in-link</code> printed.
        </p>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void open(fieldOf(event.currentTarget, "name"));
          }}
        >
          <label>
            Your name, as other members see it (empty: Owner, or as before)
            <input type="text" name="name" maxLength={200} autocomplete="name" />
          </label>
          <p>
            <button type="submit" class="button primary">
              Open the dashboard
            </button>
          </p>
        </form>
      )}
    </>
  );
}

export function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== "") history.replaceState(null, "", location.pathname);
  return token;
}
