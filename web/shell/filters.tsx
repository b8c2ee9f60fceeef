/** Filters: a menu that adds one, and a chip for each that holds. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { CountriesAnswer } from "../../api/countries/schema.js";
import { urlOf } from "../api/client.js";
import { useAnswer, useUrl } from "../api/use-answer.js";
import { countryName, providerName, providerTokens } from "../format/names.js";
import { fieldOf } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Choice, Menu } from "../parts/menu.js";
import { type FilterName, useView } from "../state/view.js";
import { CountryList } from "./country-list.js";

export function Filters({ names }: { readonly names: readonly FilterName[] }) {
  const view = useView();
  const { filters } = view;
  // Not before somebody chooses: the figures wait for the same engine.
  const [isWanted, setWanted] = useState(false);
  const products = useAnswer(
    (isWanted && names.includes("product")) || filters.product !== undefined
      ? "/v1/products"
      : null,
    { period: "lifetime", limit: "200" },
  ).answer?.data;
  const countries = useUrl<CountriesAnswer>(
    isWanted && names.includes("country") ? urlOf("/v1/countries", view.tenant) : null,
  ).answer?.data;
  return (
    <>
      <Menu label="Filter" icon="filter" hasChevron={false} onOpen={() => setWanted(true)}>
        {/* Lists that come later must not make it wider than where it was placed. */}
        <div class="filter-menu">
          {names.includes("provider") ? (
            <>
              <h3>Provider</h3>
              {providerTokens.map((token) => (
                <Choice
                  key={token}
                  href={view.with({ provider: token })}
                  isCurrent={filters.provider === token}
                >
                  {providerName(token)}
                </Choice>
              ))}
            </>
          ) : null}
          {names.includes("country") && countries !== undefined ? (
            <CountryList codes={countries.map(({ country }) => country)} />
          ) : null}
          {names.includes("product") && products !== undefined && products.length > 0 ? (
            <>
              <h3>Product</h3>
              <div class="menu-list">
                {products.map(({ id, name }) => (
                  <Choice
                    key={id}
                    href={view.with({ product: id })}
                    isCurrent={filters.product === id}
                  >
                    {name}
                  </Choice>
                ))}
              </div>
            </>
          ) : null}
          {names.includes("currency") ? <CurrencyForm /> : null}
        </div>
      </Menu>
      {chips().map(({ label, href }) => (
        <a key={label} class="chip" href={href} aria-label={`Remove the filter ${label}`}>
          <span class="cut">{label}</span>
          <Icon name="close" />
        </a>
      ))}
    </>
  );

  function chips(): readonly { readonly label: string; readonly href: string }[] {
    return names.flatMap((name) => {
      const value = filters[name];
      if (value === undefined) return [];
      if (name === "country") return countryChips(value.split(","));
      return [{ label: nameOf(name, value), href: view.with({ [name]: null }) }];
    });
  }

  /** One for each, while there is room. */
  function countryChips(codes: readonly string[]) {
    if (codes.length > chipsMax) {
      return [{ label: `${codes.length} countries`, href: view.with({ country: null }) }];
    }
    return codes.map((code) => ({
      label: countryName(code),
      href: view.with({ country: codes.filter((other) => other !== code).join(",") || null }),
    }));
  }

  function nameOf(name: FilterName, value: string): string {
    if (name === "provider") return providerName(value);
    if (name === "product") return products?.find(({ id }) => id === value)?.name ?? "One product";
    return value;
  }
}

const chipsMax = 3;

/** Currencies are known by their codes. */
function CurrencyForm() {
  const view = useView();
  const { route } = useLocation();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const code = fieldOf(event.currentTarget, "code").toUpperCase();
        event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        route(view.with({ currency: code }));
      }}
    >
      <label>
        <span class="soft small">Currency</span>
        <br />
        <input
          type="text"
          name="code"
          size={6}
          minLength={3}
          maxLength={3}
          pattern="[A-Za-z]+"
          placeholder="EUR"
          required
        />
      </label>
    </form>
  );
}
