/** Settings of the workspace, of who is signed in, and of the installation. */
import type { FunctionComponent } from "preact";
import { Bar } from "../../shell/bar.js";
import { session } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { Activity, InstallationActivity } from "./activity.js";
import { Audits } from "./audits.js";
import { Backups } from "./backups.js";
import { Integrations } from "./integrations/integrations.js";
import { Keys } from "./keys.js";
import { Members } from "./members.js";
import { Rates } from "./rates.js";
import { Rejects } from "./rejects.js";
import { SignInSettings } from "./sign-in-settings.js";
import { WorkspaceSettings } from "./workspace.js";

interface Page {
  readonly path: string;
  readonly name: string;
  readonly page: FunctionComponent;
}

const ofWorkspace: readonly Page[] = [
  { path: "/settings/integrations", name: "Integrations", page: Integrations },
  { path: "/settings/keys", name: "API keys", page: Keys },
  { path: "/settings/rejects", name: "Rejects", page: Rejects },
  { path: "/settings/members", name: "Members", page: Members },
  { path: "/settings/activity", name: "Activity", page: Activity },
  { path: "/settings/workspace", name: "Workspace", page: WorkspaceSettings },
  { path: "/settings/sign-in", name: "Sign-in", page: SignInSettings },
];
const ofInstallation: readonly Page[] = [
  { path: "/installation/activity", name: "Activity", page: InstallationActivity },
  { path: "/installation/audits", name: "Audits", page: Audits },
  { path: "/installation/rates", name: "Rates", page: Rates },
  { path: "/installation/backups", name: "Backups", page: Backups },
];

export default function Settings() {
  const view = useView();
  const now = session.value;
  const isOwner = now.is === "in" && now.session.user.owns_installation;
  const pages = isOwner ? [...ofWorkspace, ...ofInstallation] : ofWorkspace;
  const [first] = ofWorkspace;
  const shown =
    pages.find(({ path }) => view.path === path || view.path.startsWith(`${path}/`)) ?? first;
  if (shown === undefined) return null;
  const Shown = shown.page;
  return (
    <>
      <Bar title={shown.name} hasFigures={false} />
      <div class="settings">
        <nav class="tabs" aria-label="Settings">
          <Tabs pages={ofWorkspace} shown={shown} />
          {isOwner ? (
            <>
              <h2>Installation</h2>
              <Tabs pages={ofInstallation} shown={shown} />
            </>
          ) : null}
        </nav>
        <div class="settings-page">
          <Shown key={`${shown.path} ${view.workspace ?? ""}`} />
        </div>
      </div>
    </>
  );
}

function Tabs({ pages, shown }: { readonly pages: readonly Page[]; readonly shown: Page }) {
  const view = useView();
  return (
    <ul>
      {pages.map(({ path, name }) => (
        <li key={path}>
          <a href={view.to(path)} aria-current={path === shown.path ? "page" : undefined}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
