/** A field that a list is searched by: the text stands in the address. */
import { useLocation } from "preact-iso";
import { useView } from "../state/view.js";
import { fieldOf } from "./field.js";

export function Search({
  label,
  value,
}: {
  readonly label: string;
  readonly value: string | null;
}) {
  const view = useView();
  const { route } = useLocation();
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = fieldOf(event.currentTarget, "search");
        route(view.with({ search: text === "" ? null : text, open: null }));
      }}
    >
      <input
        type="search"
        name="search"
        aria-label={label}
        placeholder={label}
        defaultValue={value ?? ""}
        key={value ?? ""}
        size={label.length}
        maxLength={255}
      />
    </form>
  );
}
