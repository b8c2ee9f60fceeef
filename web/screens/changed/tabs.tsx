/** By what the changes are listed; the last tab compares two readings of the same moment. */
import { oneOf } from "../../parts/menu.js";
import { useView } from "../../state/view.js";

export const tabs = oneOf("by", "account", {
  account: "Customers",
  product: "Products",
  country: "Countries",
  provider: "Providers",
  plan_interval: "Plan intervals",
});
export type Tab = keyof typeof tabs.labels;

export function Tabs({ shown }: { readonly shown: Tab | "known" }) {
  const view = useView();
  const href = (by: string | null): string =>
    shown === "known" ? view.to("/what-changed", { by }) : view.with({ by });
  return (
    <nav class="tabs in-row" aria-label="What changed">
      <ul>
        {Object.entries(tabs.labels).map(([by, label]) => (
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
