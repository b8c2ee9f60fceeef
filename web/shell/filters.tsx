/** Filters: a menu that adds values, and a chip for each that holds. */
import { ErrorBoundary } from "preact-iso";
import { useState } from "preact/hooks";
import { useAnswer } from "../api/use-answer.js";
import { filterValueName } from "../format/names.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { filterOf, filterText, toggled } from "../state/filter.js";
import { type FilterName, useView } from "../state/view.js";
import { screenOf } from "./screens.js";

const FilterMenu = screenOf(() => import("./filter-menu.js"));
const SegmentChip = screenOf(() => import("./segments.js"));

export function Filters({ names }: { readonly names: readonly FilterName[] }) {
  const view = useView();
  const products = filterOf(view.get("product"));
  // Not before somebody chooses: the figures wait for the same engine.
  const [isWanted, setWanted] = useState(false);
  const listed = useAnswer(products.values.length > 0 ? "/v1/products" : null, {
    period: "lifetime",
    limit: "200",
  }).answer?.data;
  return (
    <>
      <Menu label="Filter" icon="filter" hasChevron={false} onOpen={() => setWanted(true)}>
        {/* What comes later must not make it wider than where it was placed. */}
        <div class="filter-menu">
          {isWanted ? (
            <ErrorBoundary>
              <FilterMenu view={view} names={names} />
            </ErrorBoundary>
          ) : null}
        </div>
      </Menu>
      {view.get("segment") === null ? null : (
        <ErrorBoundary>
          <SegmentChip view={view} />
        </ErrorBoundary>
      )}
      {names.flatMap(chipsOf).map(({ label, href }) => (
        <a key={label} class="chip" href={href} aria-label={`Remove the filter ${label}`}>
          <span class="cut">{label}</span>
          <Icon name="close" />
        </a>
      ))}
    </>
  );

  /** One for each value, while there is room. */
  function chipsOf(name: FilterName): readonly { readonly label: string; readonly href: string }[] {
    const filter = filterOf(view.get(name));
    const { isNot, values } = filter;
    if (values.length > chipsMax) {
      const label = `${isNot ? "not " : ""}${values.length} ${plurals[name]}`;
      return [{ label, href: view.with({ [name]: null }) }];
    }
    return values.map((value) => ({
      label: `${isNot ? "not " : ""}${nameOf(name, value)}`,
      href: view.with({ [name]: filterText(toggled(filter, value)) }),
    }));
  }

  function nameOf(name: FilterName, value: string): string {
    if (name === "product") return listed?.find(({ id }) => id === value)?.name ?? "One product";
    return `${name === "vintage" ? "begun in " : ""}${filterValueName(name, value)}`;
  }
}

const chipsMax = 3;

const plurals = {
  provider: "providers",
  product: "products",
  currency: "currencies",
  country: "countries",
  plan_interval: "plan intervals",
  vintage: "starts",
} as const satisfies Readonly<Record<FilterName, string>>;
