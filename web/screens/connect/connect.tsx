/** A program asks to be connected: who it is, which workspace, what it may do; yes or no. */
import { useEffect, useState } from "preact/hooks";
import type { ConnectRequestView } from "../../../schemas/http/assistants.js";
import { call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { ActionForm } from "../../parts/action-form.js";
import { fieldOf } from "../../parts/field.js";
import { Options } from "../../parts/options.js";
import { Failure, Skeleton } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { type Workspace, mayManage, session } from "../../state/session.js";

const assistants = "/v1/session/assistants";

export default function Connect() {
  const [request] = useState(() => location.search.slice(1));
  const [asked, setAsked] = useState<ConnectRequestView | null>(null);
  const { error, run } = useAction();
  const read = async (): Promise<void> => {
    const path = `${assistants}/request`;
    setAsked((await call<One<ConnectRequestView>>("POST", path, { body: { request } })).data);
  };
  useEffect(() => run(read), []);
  const now = session.value;
  const workspaces = now.is === "in" ? now.session.workspaces : [];
  if (error?.status === 400) {
    return (
      <>
        <h1>This does not work</h1>
        <p role="alert">{error.message}</p>
        <p class="soft">Nothing was connected. Go back to the program and connect it anew.</p>
      </>
    );
  }
  if (asked === null || now.is !== "in") {
    return (
      <>
        <h1>Connect an assistant</h1>
        {error === null ? (
          <Skeleton of="A program asks to read" />
        ) : (
          <Failure error={error} retry={() => run(read)} />
        )}
      </>
    );
  }
  if (workspaces.length === 0) {
    return (
      <>
        <h1>Connect an assistant</h1>
        <p>You are in no workspace yet, so there is nothing it could read.</p>
      </>
    );
  }
  return (
    <Consent asked={asked} request={request} workspaces={workspaces} user={now.session.user.name} />
  );
}

function Consent(props: {
  readonly asked: ConnectRequestView;
  readonly request: string;
  readonly workspaces: readonly Workspace[];
  readonly user: string;
}) {
  const { asked, request, workspaces } = props;
  const action = useAction();
  const [workspace, setWorkspace] = useState(workspaces[0]?.id ?? "");
  const [isDone, setDone] = useState(false);
  const mayWrite =
    asked.asks_to_write && mayManage(workspaces.find(({ id }) => id === workspace) ?? null);
  const allow = async (form: HTMLFormElement): Promise<void> => {
    const { data } = await call<One<{ redirect_to: string }>>("POST", assistants, {
      body: {
        request,
        workspace,
        environment: fieldOf(form, "environment"),
        may_write: mayWrite && fieldOf(form, "write") !== "",
      },
    });
    setDone(true);
    location.assign(data.redirect_to);
  };
  return (
    <>
      <h1>Connect {asked.client}?</h1>
      <p>
        {asked.on_this_computer ? (
          <>A program on this computer</>
        ) : (
          <>
            A program at <strong>{asked.redirect_host}</strong>
          </>
        )}{" "}
        asks to read figures in your name, {props.user}.{" "}
        {asked.client_host === null ? (
          <>It chose its name itself</>
        ) : (
          <>
            <strong>{asked.client_host}</strong> says that this is its name
          </>
        )}
        : allow it only if you have just started this there.
      </p>
      <ActionForm action={action} class="stack" send={(form) => allow(form)}>
        <label>
          Workspace
          <select
            name="workspace"
            value={workspace}
            onChange={(event) => setWorkspace(event.currentTarget.value)}
          >
            <Options of={workspaces.map(({ id, name }) => [id, name])} />
          </select>
        </label>
        <label>
          Environment
          <select name="environment">
            <option value="live">Live</option>
            <option value="test">Test</option>
          </select>
        </label>
        <p>It may read figures, transactions and accounts, without names and e-mails.</p>
        {mayWrite ? (
          <label class="check">
            <input type="checkbox" name="write" /> It may also make alerts and annotations.
          </label>
        ) : null}
        <p>
          <button type="submit" class="button primary" disabled={action.isBusy || isDone}>
            Allow
          </button>
        </p>
        <p>
          <button type="button" class="button" onClick={() => location.assign(asked.denied_to)}>
            Deny
          </button>
        </p>
      </ActionForm>
      <p class="soft small">
        It ends with your membership, after 30 days without use, or under Settings, Assistants.
      </p>
    </>
  );
}
