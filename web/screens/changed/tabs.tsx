/** By what the changes are listed; the last tab compares two readings of the same moment. */
import { useView } from "../../state/view.js";

const tabs = {
  account: "Customers",
  product: "Products",
  country: "Countries",
  provider: "Providers",
  plan_interval: "Plan intervals",
} as const;
export type Tab = keyof typeof tabs;

export function tabOf(text: string | null): Tab {
  return text !== null && isTab(text) ? text : "account";
}

function isTab(text: string): text is Tab {
  return Object.hasOwn(tabs, text);
}

export function Tabs({ shown }: { readonly shown: Tab | "known" }) {
  const view = useView();
  const href = (by: string | null): string =>
    shown === "known" ? view.to("/what-changed", { by }) : view.with({ by });
  return (
    <nav class="tabs in-row" aria-label="What changed">
      <ul>
        {Object.entries(tabs).map(([by, label]) => (
          <li key={by}>
            <a
              href={href(by === "account" ? null : by)}
              aria-current={by === shown ? "page" : undefined}
            >
              {label}
            </a>
          </li>
        ))}
        <li>
          <a href={view.to("/why")} aria-current={shown === "known" ? "page" : undefined}>
            What we knew when
          </a>
        </li>
      </ul>
    </nav>
  );
}
