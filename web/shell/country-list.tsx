/** The countries there are, to choose some of by name. The menu around it stays open. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { countryName } from "../format/names.js";
import { useView } from "../state/view.js";

export function CountryList({ codes }: { readonly codes: readonly string[] }) {
  const view = useView();
  const { route } = useLocation();
  const [text, setText] = useState("");
  const chosen = view.filters.country?.split(",") ?? [];
  const found = foundBy(text, new Set([...codes, ...chosen]));
  const toggle = (code: string): void => {
    const others = chosen.filter((other) => other !== code);
    const now = others.length < chosen.length ? others : [...chosen, code];
    route(view.with({ country: now.join(",") || null }));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const [first] = found;
        if (first !== undefined && text !== "") toggle(first.code);
      }}
    >
      <fieldset class="plain-set">
        <legend class="soft small">Country</legend>
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
                onChange={() => toggle(code)}
              />
              {name}
            </label>
          ))}
          {found.length === 0 ? <p class="soft small">No such country here.</p> : null}
        </div>
      </fieldset>
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
