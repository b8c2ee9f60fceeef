/** The command palette, and the list of keys. */
import { useLocation } from "preact-iso";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.js";
import type { View } from "../state/view.js";
import { type Command, commandsOf } from "./commands.js";
import { screens } from "./places.js";

export default function KeysDialog(props: {
  readonly view: View;
  readonly shown: "palette" | "help";
  readonly show: (what: "nothing" | "help") => void;
  /** @returns keys that were pressed before */
  readonly takeEarly: () => readonly string[];
}) {
  const { view, shown, show, takeEarly } = props;
  const close = (): void => show("nothing");
  if (shown === "help") return <Help onClose={close} />;
  const onHelp = (): void => show("help");
  return <Palette view={view} onClose={close} onHelp={onHelp} takeEarly={takeEarly} />;
}

function Palette(props: {
  readonly view: View;
  readonly onClose: () => void;
  readonly onHelp: () => void;
  readonly takeEarly: () => readonly string[];
}) {
  const { view, onClose, onHelp, takeEarly } = props;
  const { route } = useLocation();
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const commands = useMemo(() => commandsOf(view, text, onHelp).slice(0, paletteMax), [view, text]);
  useEffect(() => {
    input.current?.focus();
    const keys = takeEarly();
    const given = keys.filter((key) => key !== "Enter").join("");
    setText((since) => given + since);
    const [first] = commandsOf(view, given, onHelp);
    if (keys.includes("Enter") && first !== undefined) run(first);
  }, []);
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
        aria-label="A screen, an action, an e-mail, an id"
        placeholder="A screen, an action, an e-mail, an id"
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
        {commands.length === 0
          ? `Nothing is called “${text.trim()}”. A customer is found by the whole e-mail or id.`
          : ""}
      </p>
    </Dialog>
  );
}

const paletteMax = 12;

function Help({ onClose }: { readonly onClose: () => void }) {
  const keys: readonly (readonly [string, string])[] = [
    ["⌘K or /", "Go to a screen, an action, a customer by e-mail, an id"],
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
