/** Filters: a menu that adds values, and a chip for each that holds. */
import { useState } from "preact/hooks";
import type { CountriesAnswer } from "../../api/countries/schema.js";
import { urlOf } from "../api/client.js";
import { useAnswer, useUrl } from "../api/use-answer.js";
import { vintageName } from "../format/dates.js";
import {
  countryName,
  planIntervalName,
  planIntervalTokens,
  providerName,
  providerTokens,
} from "../format/names.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { filterOf, filterText, toggled } from "../state/filter.js";
import { type FilterName, useView } from "../state/view.js";
import { CountryList } from "./country-list.js";
import { FilterList, FilterText } from "./filter-lists.js";

export function Filters({ names }: { readonly names: readonly FilterName[] }) {
  const view = useView();
  const products = filterOf(view.get("product"));
  // Not before somebody chooses: the figures wait for the same engine.
  const [isWanted, setWanted] = useState(false);
  const listed = useAnswer(
    (isWanted && names.includes("product")) || products.values.length > 0 ? "/v1/products" : null,
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
            <FilterList
              name="provider"
              label="Provider"
              options={providerTokens.map((token) => ({
                value: token,
                label: providerName(token),
              }))}
            />
          ) : null}
          {names.includes("country") && countries !== undefined ? (
            <CountryList codes={countries.map(({ country }) => country)} />
          ) : null}
          {names.includes("product") && listed !== undefined && listed.length > 0 ? (
            <FilterList
              name="product"
              label="Product"
              options={listed.map(({ id, name }) => ({ value: id, label: name }))}
            />
          ) : null}
          {names.includes("currency") ? (
            <FilterText name="currency" label="Currency" pattern="[A-Za-z]{3}" example="EUR" />
          ) : null}
          {names.includes("plan_interval") ? (
            <FilterList
              name="plan_interval"
              label="Billed"
              options={planIntervalTokens.map((token) => ({
                value: token,
                label: planIntervalName(token),
              }))}
            />
          ) : null}
          {names.includes("vintage") ? (
            <FilterText
              name="vintage"
              label="Month of start"
              pattern="\d{4}(-(0[1-9]|1[0-2])|-[Qq][1-4])?"
              example="2026-05"
            />
          ) : null}
        </div>
      </Menu>
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
    if (name === "provider") return providerName(value);
    if (name === "country") return countryName(value);
    if (name === "plan_interval") return planIntervalName(value);
    if (name === "product") return listed?.find(({ id }) => id === value)?.name ?? "One product";
    return name === "vintage" ? `begun in ${vintageName(value)}` : value;
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
