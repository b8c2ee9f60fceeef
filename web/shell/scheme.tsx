/** Dark, light, or as the system says. `public/scheme.js` applies it before the first paint. */
import { signal } from "@preact/signals";
import { Icon } from "../parts/icon.js";

const schemes = ["system", "light", "dark"] as const;
type Scheme = (typeof schemes)[number];

const scheme = signal<Scheme>(storedScheme());

export function nextScheme(): void {
  const next = schemes[(schemes.indexOf(scheme.value) + 1) % schemes.length] ?? "system";
  scheme.value = next;
  if (next === "system") {
    delete document.documentElement.dataset.scheme;
    localStorage.removeItem("scheme");
  } else {
    document.documentElement.dataset.scheme = next;
    localStorage.setItem("scheme", next);
  }
}

export function SchemeButton() {
  const label = `Colours: ${scheme.value}`;
  return (
    <button
      type="button"
      class="button plain"
      aria-label={label}
      title={label}
      onClick={nextScheme}
    >
      <Icon name="scheme" />
    </button>
  );
}

function storedScheme(): Scheme {
  const { scheme: stored } = document.documentElement.dataset;
  return schemes.find((name) => name === stored) ?? "system";
}
