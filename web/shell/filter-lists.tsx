/** What a filter may be set to: values to choose some of, and whether they are wanted or not. */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { fieldOf } from "../parts/field.js";
import { type Filter, filterOf, filterText, toggled } from "../state/filter.js";
import { useView } from "../state/view.js";

interface Chosen {
  readonly filter: Filter;
  readonly toggle: (value: string) => void;
  readonly setNot: (isNot: boolean) => void;
}

/** Whether values are wanted or not is kept here until there is one, which the address keeps. */
export function useFilter(name: string): Chosen {
  const view = useView();
  const { route } = useLocation();
  const [isNot, setIsNot] = useState(false);
  const held = filterOf(view.get(name));
  const filter = held.values.length > 0 ? held : { ...held, isNot };
  const set = (next: Filter) => route(view.with({ [name]: filterText(next) }));
  return {
    filter,
    toggle: (value) => {
      setIsNot(filter.isNot);
      set(toggled(filter, value));
    },
    setNot: (next) => {
      setIsNot(next);
      if (filter.values.length > 0) set({ ...filter, isNot: next });
    },
  };
}

export function FilterSet(props: {
  readonly label: string;
  readonly of: Chosen;
  readonly children: ComponentChildren;
}) {
  const { filter, setNot } = props.of;
  return (
    <fieldset class="plain-set">
      <legend class="soft small">{props.label}</legend>
      <div class="is-or-not">
        {([false, true] as const).map((isNot) => (
          <button
            key={String(isNot)}
            type="button"
            aria-pressed={filter.isNot === isNot}
            aria-label={`${props.label} ${isNot ? "is not" : "is"}`}
            onClick={() => setNot(isNot)}
          >
            {isNot ? "is not" : "is"}
          </button>
        ))}
      </div>
      {props.children}
    </fieldset>
  );
}

export function FilterList(props: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}) {
  const of = useFilter(props.name);
  return (
    <FilterSet label={props.label} of={of}>
      <div class="menu-list">
        {props.options.map(({ value, label }) => (
          <button
            key={value}
            type="button"
            class="menu-toggle"
            aria-pressed={of.filter.values.includes(value)}
            onClick={() => of.toggle(value)}
          >
            <span class="cut">{label}</span>
          </button>
        ))}
      </div>
    </FilterSet>
  );
}

/** Of what is known by its code. */
export function FilterText(props: {
  readonly name: string;
  readonly label: string;
  readonly pattern: string;
  readonly example: string;
}) {
  const of = useFilter(props.name);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const value = fieldOf(event.currentTarget, "value").toUpperCase();
        event.currentTarget.reset();
        if (!of.filter.values.includes(value)) of.toggle(value);
      }}
    >
      <FilterSet label={props.label} of={of}>
        <input
          type="text"
          name="value"
          aria-label={props.label}
          autocomplete="off"
          maxLength={7}
          pattern={props.pattern}
          placeholder={props.example}
          required
        />
      </FilterSet>
    </form>
  );
}
