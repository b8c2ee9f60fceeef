/** Keys that work on every screen, the list of them, and the command palette. */
import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.js";
import { type View, useView } from "../state/view.js";
import { completeTo } from "../api/use-answer.js";
import { type Command, commandsOf } from "./commands.js";
import { frozen } from "./freeze.js";
import { screens } from "./places.js";

const shown = signal<"nothing" | "palette" | "help">("nothing");

export function openPalette(): void {
  shown.value = "palette";
}

export function Keys() {
  const view = useView();
  const { route } = useLocation();
  useEffect(() => {
    let isAfterG = false;
    const press = (event: KeyboardEvent): void => {
      const { key } = event;
      if ((event.metaKey || event.ctrlKey) && key.toLowerCase() === "k") {
        event.preventDefault();
        shown.value = shown.peek() === "palette" ? "nothing" : "palette";
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
      const goal = isAfterG ? screens.find((screen) => screen.key === key) : undefined;
      isAfterG = key === "g";
      if (goal !== undefined) route(view.to(goal.path));
      else if (key === "?") shown.value = "help";
      else if (key === "f") route(frozen(view, completeTo.peek()));
      else if (key === "/") openPalette();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [view, route]);

  const close = (): void => void (shown.value = "nothing");
  if (shown.value === "palette") return <Palette view={view} onClose={close} />;
  if (shown.value === "help") return <Help onClose={close} />;
  return null;
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}

function Palette({ view, onClose }: { readonly view: View; readonly onClose: () => void }) {
  const { route } = useLocation();
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const commands = useMemo(
    () => commandsOf(view, text, () => void (shown.value = "help")).slice(0, paletteMax),
    [view, text],
  );
  useEffect(() => input.current?.focus(), []);
  const run = ({ act }: Command): void => {
    onClose();
    if (typeof act === "string") route(act);
    else act();
  };
  const press = (event: KeyboardEvent): void => {
    const chosen = commands[index];
    if (event.key === "Enter") {
      if (chosen !== undefined) run(chosen);
    } else if (event.key === "ArrowDown") setIndex(Math.min(commands.length - 1, index + 1));
    else if (event.key === "ArrowUp") setIndex(Math.max(0, index - 1));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        ref={input}
        type="text"
        class="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={commands.length === 0 ? undefined : `palette-${index}`}
        aria-label="A screen, an action, a range, an id"
        placeholder="A screen, an action, a range, an id"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={press}
      />
      <ul class="palette" id="palette" role="listbox" aria-label="Commands">
        {commands.map((command, at) => (
          // The keyboard stays in the field; this is for the pointer.
          <li
            key={command.label + command.hint}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === index}
            onClick={() => run(command)}
          >
            <span class="cut">{command.label}</span>
            <span class="soft cut">{command.hint}</span>
          </li>
        ))}
      </ul>
      <p class="soft palette-none" role="status">
        {commands.length === 0 ? `Nothing is called “${text.trim()}”, and it is no id.` : ""}
      </p>
    </Dialog>
  );
}

const paletteMax = 12;

function Help({ onClose }: { readonly onClose: () => void }) {
  const keys: readonly (readonly [string, string])[] = [
    ["⌘K or /", "Go to a screen, an action, a range, an id"],
    ["f", "Freeze the figures"],
    ["?", "This list"],
    ["← →", "In a chart: the next column; Enter opens it"],
    ["Esc", "Close what is open"],
    ...screens.flatMap(({ key, name }) => (key === undefined ? [] : [[`g ${key}`, name] as const])),
  ];
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="facts">
        {keys.map(([key, label]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}
