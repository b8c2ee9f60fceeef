/** What stands around every screen: navigation, workspace and environment, notes, keys. */
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { openLive } from "../api/live.js";
import { forgetAnswers, refreshAnswers } from "../api/use-answer.js";
import { moment } from "../format/dates.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { type Workspace, session, workspaceOf } from "../state/session.js";
import { type View, useView } from "../state/view.js";
import { Keys, openPalette } from "./keys.js";
import { isSideOpen } from "./side-open.js";
import { SchemeButton } from "./scheme.js";
import { Failure } from "../parts/states.js";
import { CallError, call } from "../api/client.js";

const groups = [
  {
    name: "Figures",
    screens: [
      ["/overview", "Overview"],
      ["/mrr", "MRR"],
      ["/revenue", "Revenue"],
      ["/retention", "Retention"],
      ["/products", "Products"],
    ],
  },
  {
    name: "Records",
    screens: [
      ["/transactions", "Transactions"],
      ["/accounts", "Accounts"],
      ["/live", "Live"],
      ["/why", "Why it changed"],
    ],
  },
] as const;

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const view = useView();
  const workspace = workspaceOf(view.workspace);
  useLiveRefresh(view);
  const { url } = useLocation();
  useEffect(() => {
    isSideOpen.value = false;
  }, [url]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the figures
      </a>
      <Side view={view} workspace={workspace} />
      <main class="page" id="main">
        <Notes view={view} />
        {workspace === null ? <UnknownWorkspace /> : children}
      </main>
      <Keys />
    </div>
  );
}

function Side({ view, workspace }: { readonly view: View; readonly workspace: Workspace | null }) {
  const now = session.value;
  const workspaces = now.is === "in" ? now.session.workspaces : [];
  const isHere = (path: string): boolean => view.path === path || view.path.startsWith(`${path}/`);
  return (
    <header class="side" data-open={isSideOpen.value ? "true" : "false"}>
      <div class="workspace">
        <Menu name="Workspace" label={workspace?.name ?? "Workspace"}>
          {workspaces.map(({ id, name }) => (
            <a
              key={id}
              href={`${view.path}?workspace=${id}`}
              aria-current={id === view.workspace ? "true" : undefined}
            >
              {name}
            </a>
          ))}
          <hr />
          <a href={view.to("/welcome")}>Create a workspace</a>
        </Menu>
        <div class="environment" role="group" aria-label="Environment">
          {(["live", "test"] as const).map((name) => (
            <a
              key={name}
              href={view.with({ environment: name === "live" ? null : name })}
              aria-current={view.environment === name ? "true" : undefined}
            >
              {name === "live" ? "Live" : "Test"}
            </a>
          ))}
        </div>
      </div>
      <nav aria-label="Screens">
        {groups.map(({ name, screens }) => (
          <div key={name}>
            <h2>{name}</h2>
            <ul>
              {screens.map(([path, label]) => (
                <li key={path}>
                  <a href={view.to(path)} aria-current={isHere(path) ? "page" : undefined}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <h2>Workspace</h2>
        <ul>
          <li>
            <a
              href={view.to("/settings")}
              aria-current={isHere("/settings") || isHere("/installation") ? "page" : undefined}
            >
              Settings
            </a>
          </li>
        </ul>
      </nav>
      <div class="foot">
        {now.is === "in" ? <p class="small">{now.session.user.name}</p> : null}
        <div class="foot-row">
          <SchemeButton />
          <button type="button" class="button plain" onClick={openPalette}>
            <Icon name="search" />
            <span class="unseen">Commands</span>
            <kbd>⌘K</kbd>
          </button>
          <SignOut />
        </div>
      </div>
    </header>
  );
}

interface SignedOut {
  /** Where the identity provider ends its own session. */
  readonly data: { readonly redirect_to: string | null };
}

function SignOut() {
  const leave = async (): Promise<void> => {
    const { data } = await call<SignedOut>("POST", "/auth/sign-out");
    location.assign(data.redirect_to ?? "/sign-in");
  };
  return (
    <button
      type="button"
      class="button plain"
      aria-label="Sign out"
      title="Sign out"
      onClick={() => void leave()}
    >
      <Icon name="out" />
    </button>
  );
}

function Notes({ view }: { readonly view: View }) {
  return (
    <>
      {view.environment === "test" ? (
        <p class="test-note">Test environment: none of this is real money.</p>
      ) : null}
      {view.isFrozen ? (
        <p class="frozen-note">
          Frozen: as of {moment(view.at ?? view.knownAt ?? "")} UTC
          {view.knownAt === null ? "" : `, as known on ${moment(view.knownAt)} UTC`}. This link
          shows the same figures for ever.
          <a href={view.with({ at: null, known_at: null })}>Back to now</a>
        </p>
      ) : null}
    </>
  );
}

function UnknownWorkspace() {
  const error = new CallError(404, "workspace_unknown", "There is no such workspace here.", null);
  return <Failure error={error} />;
}

/** At most one reading in so long, however many transactions come. */
const refreshMsMin = 4_000;

/** Figures follow the stream, as long as they are those of now. */
function useLiveRefresh(view: View): void {
  const { workspace, environment, isFrozen } = view;
  useEffect(() => forgetAnswers(), [workspace, environment]);
  useEffect(() => {
    if (workspace === null || isFrozen) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = openLive({ workspace, environment }, () => {
      if (document.hidden) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        refreshAnswers();
      }, refreshMsMin);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [workspace, environment, isFrozen]);
}
