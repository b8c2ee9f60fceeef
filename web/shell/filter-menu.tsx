/** What the menu of filters offers: loaded when it is opened first. */
import type { CountriesAnswer } from "../../api/countries/schema.js";
import { urlOf } from "../api/client.js";
import { useAnswer, useUrl } from "../api/use-answer.js";
import {
  planIntervalName,
  planIntervalTokens,
  providerName,
  providerTokens,
} from "../format/names.js";
import { type FilterName, type View } from "../state/view.js";
import { CountryList } from "./country-list.js";
import { FilterList, FilterText } from "./filter-lists.js";
import { SegmentMenu } from "./segments.js";

export default function FilterMenu(props: {
  readonly view: View;
  readonly names: readonly FilterName[];
}) {
  const { view, names } = props;
  const listed = useAnswer(names.includes("product") ? "/v1/products" : null, {
    period: "lifetime",
    limit: "200",
  }).answer?.data;
  const countries = useUrl<CountriesAnswer>(
    names.includes("country") ? urlOf("/v1/countries", view.tenant) : null,
  ).answer?.data;
  return (
    <SegmentMenu view={view}>
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
    </SegmentMenu>
  );
}
