/** Settings of the workspace, of who is signed in, and of the installation. */
import "../../styles/settings.css";
import type { FunctionComponent } from "preact";
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";
import { installationPages, settingsPages } from "../../shell/settings-pages.js";
import { ownsInstallation } from "../../state/session.js";
import { useView } from "../../state/view.js";
import { Activity, InstallationActivity } from "./activity.js";
import { Alerts } from "./alerts/alerts.js";
import { Assistants } from "./assistants.js";
import { Audits } from "./audits.js";
import { Backups } from "./backups.js";
import { Digests } from "./digests.js";
import { Integrations } from "./integrations/integrations.js";
import { Keys } from "./keys.js";
import { Members } from "./members.js";
import { Proofs } from "./proofs.js";
import { Rates } from "./rates.js";
import { Rejects } from "./rejects.js";
import { SignInSettings } from "./sign-in-settings.js";
import { Webhooks } from "./webhooks/webhooks.js";
import { WorkspaceSettings } from "./workspace.js";

const contents = {
  "/settings/integrations": Integrations,
  "/settings/keys": Keys,
  "/settings/rejects": Rejects,
  "/settings/members": Members,
  "/settings/alerts": Alerts,
  "/settings/digests": Digests,
  "/settings/webhooks": Webhooks,
  "/settings/proofs": Proofs,
  "/settings/activity": Activity,
  "/settings/workspace": WorkspaceSettings,
  "/settings/assistants": Assistants,
  "/settings/sign-in": SignInSettings,
  "/installation/activity": InstallationActivity,
  "/installation/audits": Audits,
  "/installation/rates": Rates,
  "/installation/backups": Backups,
} as const satisfies Readonly<Record<Page["path"], FunctionComponent>>;

type Page = (typeof settingsPages | typeof installationPages)[number];

export default function Settings() {
  const view = useView();
  const pages = ownsInstallation() ? [...settingsPages, ...installationPages] : settingsPages;
  const shown =
    pages.find(({ path }) => `${view.path}/`.startsWith(`${path}/`)) ??
    (view.path === "/settings" ? settingsPages[0] : null);
  const Shown = shown === null ? NoPage : contents[shown.path];
  return (
    <>
      <Bar title={shown?.name ?? "Settings"} hasFigures={false} />
      <div class="settings">
        <nav class="tabs" aria-label="Settings">
          <Tabs pages={settingsPages} shown={shown} />
          {ownsInstallation() ? (
            <>
              <h2>Installation</h2>
              <Tabs pages={installationPages} shown={shown} />
            </>
          ) : null}
        </nav>
        <div class="settings-page">
          <Shown key={`${shown?.path} ${view.workspace ?? ""}`} />
        </div>
      </div>
    </>
  );
}

function NoPage() {
  return (
    <Empty title="There is no such page">
      It has another name, or is for the owner of the installation.
    </Empty>
  );
}

function Tabs({ pages, shown }: { readonly pages: readonly Page[]; readonly shown: Page | null }) {
  const view = useView();
  return (
    <ul>
      {pages.map(({ path, name }) => (
        <li key={path}>
          <a href={view.to(path)} aria-current={path === shown?.path ? "page" : undefined}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
