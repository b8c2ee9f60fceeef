/** What stands around every screen: navigation, workspace and environment, notes, keys. */
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { openLive } from "../api/live.js";
import { awaited, forgetAnswers, refreshAnswers, useAnswer } from "../api/use-answer.js";
import { bothMoments, day, zoneName } from "../format/dates.js";
import { Copy } from "../parts/copy.js";
import { tellWhole } from "../parts/cut.js";
import { Icon } from "../parts/icon.js";
import { Choice, Menu } from "../parts/menu.js";
import { type Workspace, session, workspaceOf } from "../state/session.js";
import { type View, testClock, useView } from "../state/view.js";
import { Bar, rangeLabel } from "./bar.js";
import { Keys, openPalette } from "./keys.js";
import { groups } from "./places.js";
import { isSideOpen } from "./side-open.js";
import { SchemeButton } from "./scheme.js";
import { Empty, Slow } from "../parts/states.js";
import { call } from "../api/client.js";

export function Shell(props: {
  /** The screen shown is still the one before. */
  readonly isOpening: boolean;
  readonly children: ComponentChildren;
}) {
  const view = useView();
  const workspace = workspaceOf(view.workspace);
  useLiveRefresh(view, workspace?.id ?? null);
  useTestClock(view);
  const { url } = useLocation();
  useEffect(() => {
    isSideOpen.value = false;
  }, [url]);
  useEffect(() => {
    addEventListener("pointerover", tellWhole);
    return () => removeEventListener("pointerover", tellWhole);
  }, []);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the figures
      </a>
      <Side view={view} workspace={workspace} />
      <main class="page" id="main" aria-busy={props.isOpening}>
        <Notes view={view} />
        {workspace === null ? <UnknownWorkspace view={view} /> : props.children}
      </main>
      {props.isOpening || awaited.value > 0 ? <Slow /> : null}
      <Keys />
    </div>
  );
}

function Side({ view, workspace }: { readonly view: View; readonly workspace: Workspace | null }) {
  const now = session.value;
  const workspaces = now.is === "in" ? now.session.workspaces : [];
  const isHere = (path: string): boolean =>
    `${view.path}/`.startsWith(`${path}/`) ||
    (path === "/what-changed" && view.path === "/why") ||
    (path === "/settings" && view.path.startsWith("/installation/"));
  return (
    <header class="side" data-open={isSideOpen.value ? "true" : "false"}>
      <div class="workspace">
        <Menu name="Workspace" label={workspace?.name ?? "Workspace"}>
          {workspaces.map(({ id, name }) => (
            <Choice
              key={id}
              href={`${view.path}?workspace=${id}`}
              isCurrent={id === view.workspace}
            >
              {name}
            </Choice>
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
        {groups.map(({ name, places }) => (
          <div key={name}>
            <h2>{name}</h2>
            <ul>
              {places.map((place) => (
                <li key={place.path}>
                  <a
                    href={view.to(place.path)}
                    aria-current={isHere(place.path) ? "page" : undefined}
                  >
                    {place.name}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="foot">
        <p class="small">{zoneNote()}</p>
        {now.is === "in" ? <p class="small cut">{now.session.user.name}</p> : null}
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

function zoneNote(): string {
  const zone = zoneName();
  return zone === "UTC" ? "All times are UTC" : `Times in ${zone}, days and months in UTC`;
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
        <p class="test-note">
          Test environment: none of this is real money.
          {view.testClock === null ? null : (
            <span>Test clock: figures reach to {day(view.testClock)}.</span>
          )}
        </p>
      ) : null}
      {view.rangeProblem === null ? null : (
        <p class="test-note">
          {view.rangeProblem === "reversed"
            ? "The range in this address ends before it begins"
            : "The range in this address is not two days such as 2026-01-31"}
          , so this one is shown: {rangeLabel(view)}.
          <a href={view.with({ from: null, to: null })}>Forget that range</a>
        </p>
      )}
      {view.isFrozen ? (
        <p class="frozen-note">
          Frozen: as of {bothMoments(view.at ?? view.knownAt ?? "")}
          {view.knownAt === null ? "" : `, as known on ${bothMoments(view.knownAt)}`}. This link
          shows the same figures for ever.
          <Copy name="link" text={location.origin + view.with({})} isShown isNamed />
          <a href={view.with({ at: null, known_at: null })}>Back to now</a>
        </p>
      ) : null}
    </>
  );
}

function UnknownWorkspace({ view }: { readonly view: View }) {
  const now = session.value;
  const [first] = now.is === "in" ? now.session.workspaces : [];
  return (
    <>
      <Bar title="No such workspace" hasFigures={false} />
      <Empty
        title="This address names a workspace that is not yours"
        {...(first === undefined
          ? {}
          : { action: { href: view.with({ workspace: first.id }), label: `Open ${first.name}` } })}
      >
        It may be misspelled, or you are not a member: ask an administrator of that workspace for an
        invitation.
      </Empty>
    </>
  );
}

/** At most one reading in so long, however many transactions come. */
const refreshMsMin = 4_000;

/** Figures follow the stream, as long as they are those of now. */
function useLiveRefresh({ environment, isFrozen }: View, workspace: string | null): void {
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

/** Where a provider's test clock runs ahead, ranges end with the newest moment that is booked. */
function useTestClock({ environment }: View): void {
  const path = environment === "test" ? "/v1/metrics/mrr" : null;
  const { answer, isStale } = useAnswer(path, { at: null, known_at: null });
  const newest = answer === null || isStale ? null : answer.at;
  useLayoutEffect(() => {
    testClock.value = newest !== null && Date.parse(newest) > Date.now() ? newest : null;
  }, [newest]);
}
