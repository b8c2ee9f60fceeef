/** The name of a figure; a click shows what it means. */
import { useId, useRef } from "preact/hooks";
import { type Definition, type DefinitionName, definitions } from "../definitions.js";
import { place } from "./menu.js";

export function Term(props: {
  /** What only one screen shows, it defines itself: the first load has no room for it. */
  readonly of: DefinitionName | Definition;
  /** Where the name of the definition is not the word that stands there. */
  readonly label?: string;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const { of } = props;
  const definition: Definition = typeof of === "string" ? definitions[of] : of;
  return (
    <>
      <button type="button" class="term" popovertarget={id} ref={button}>
        {props.label ?? definition.name}
      </button>
      <div
        id={id}
        class="menu definition"
        popover="auto"
        onToggle={(event) => {
          if (event.newState === "open" && button.current !== null) {
            place(event.currentTarget, button.current);
          }
        }}
      >
        <p>
          <strong>{definition.name}</strong>
        </p>
        <p>{definition.text}</p>
        {definition.formula === undefined ? null : <p class="code soft">{definition.formula}</p>}
      </div>
    </>
  );
}
