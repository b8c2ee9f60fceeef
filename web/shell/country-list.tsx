/** The countries there are, to choose some of by name. The menu around it stays open. */
import { useState } from "preact/hooks";
import { countryName } from "../format/names.js";
import { FilterSet, useFilter } from "./filter-lists.js";

export function CountryList({ codes }: { readonly codes: readonly string[] }) {
  const of = useFilter("country");
  const [text, setText] = useState("");
  const chosen = of.filter.values;
  const found = foundBy(text, new Set([...codes, ...chosen]));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const [first] = found;
        if (first !== undefined && text !== "") of.toggle(first.code);
      }}
    >
      <FilterSet label="Country" of={of}>
        <input
          type="search"
          aria-label="Find a country"
          placeholder="Find a country"
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <div class="menu-list">
          {found.map(({ code, name }) => (
            <label key={code} class="menu-check">
              <input
                type="checkbox"
                checked={chosen.includes(code)}
                onChange={() => of.toggle(code)}
              />
              {name}
            </label>
          ))}
          {found.length === 0 ? <p class="soft small">No such country here.</p> : null}
        </div>
      </FilterSet>
    </form>
  );
}

interface Country {
  readonly code: string;
  readonly name: string;
}

/** By code, or by a part of the name; what begins so comes first. */
function foundBy(text: string, codes: Iterable<string>): readonly Country[] {
  const wanted = text.trim().toLowerCase();
  const rank = ({ code, name }: Country): number =>
    code.toLowerCase() === wanted || name.toLowerCase().startsWith(wanted) ? 0 : 1;
  return Array.from(codes, (code): Country => ({ code, name: countryName(code) }))
    .filter((country) => rank(country) === 0 || country.name.toLowerCase().includes(wanted))
    .sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}
