/** Keys that work on every screen, the list of them, and the command palette. */
import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.js";
import { ranges } from "../state/ranges.js";
import { session } from "../state/session.js";
import { type View, useView } from "../state/view.js";
import { completeTo } from "../api/use-answer.js";
import { frozen } from "./freeze.js";
import { nextScheme } from "./scheme.js";

const shown = signal<"nothing" | "palette" | "help">("nothing");

export function openPalette(): void {
  shown.value = "palette";
}

const screens = [
  ["o", "/overview", "Overview"],
  ["m", "/mrr", "MRR"],
  ["r", "/revenue", "Revenue"],
  ["n", "/retention", "Retention"],
  ["p", "/products", "Products"],
  ["t", "/transactions", "Transactions"],
  ["a", "/accounts", "Accounts"],
  ["l", "/live", "Live"],
  ["w", "/why", "Why it changed"],
  ["s", "/settings", "Settings"],
] as const;

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
      const goal = isAfterG ? screens.find(([letter]) => letter === key) : undefined;
      isAfterG = key === "g";
      if (goal !== undefined) route(view.to(goal[1]));
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

interface Command {
  readonly label: string;
  readonly hint: string;
  readonly run: (route: (href: string) => void) => void;
}

function commandsOf(view: View, text: string): readonly Command[] {
  const go = (href: string) => (route: (href: string) => void) => route(href);
  const now = session.peek();
  const workspaces = now.is === "in" ? now.session.workspaces : [];
  const commands: readonly Command[] = [
    ...screens.map(([key, path, label]) => ({ label, hint: `g ${key}`, run: go(view.to(path)) })),
    ...Object.entries(ranges).map(([range, label]) => ({
      label,
      hint: "Range",
      run: go(view.with({ range, from: null, to: null, interval: null })),
    })),
    { label: "Freeze these figures", hint: "f", run: go(frozen(view, completeTo.peek())) },
    { label: "Remove all filters", hint: "Filter", run: go(withoutFilters(view)) },
    { label: "Change colours", hint: "Dark or light", run: nextScheme },
    { label: "Keys", hint: "?", run: () => void (shown.value = "help") },
    ...workspaces.map(({ id, name }) => ({
      label: name,
      hint: "Workspace",
      run: go(`${view.path}?workspace=${id}`),
    })),
  ];
  const wanted = text.trim().toLowerCase();
  const matching = commands.filter(({ label, hint }) =>
    `${label} ${hint}`.toLowerCase().includes(wanted),
  );
  return [...lookups(view, text.trim()), ...matching];
}

/** What looks like an id opens what it names. */
function lookups(view: View, text: string): readonly Command[] {
  if (text.length < 6 || /\s/.test(text)) return [];
  const open = (label: string, href: string): Command => ({
    label,
    hint: text,
    run: (route) => route(href),
  });
  if (text.startsWith("tx_norm_")) {
    return [open("Open the transaction", view.to("/transactions", { open: text }))];
  }
  if (text.startsWith("evt_norm_")) return [open("Open the event", view.to(`/events/${text}`))];
  return [
    open("Transactions by a provider's id", view.to("/transactions", { search: text })),
    open("Open the account", view.to(`/accounts/${encodeURIComponent(text)}`)),
  ];
}

function withoutFilters(view: View): string {
  return view.with({ provider: null, product: null, currency: null, country: null });
}

function Palette({ view, onClose }: { readonly view: View; readonly onClose: () => void }) {
  const { route } = useLocation();
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const commands = useMemo(() => commandsOf(view, text), [view, text]);
  useEffect(() => input.current?.focus(), []);
  const run = (command: Command | undefined): void => {
    onClose();
    command?.run(route);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") run(commands[index]);
    else if (event.key === "ArrowDown") setIndex(Math.min(commands.length - 1, index + 1));
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
        list={undefined}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={`palette-${index}`}
        aria-label="A screen, a range, an id"
        placeholder="A screen, a range, an id"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={press}
      />
      <ul class="palette" id="palette" role="listbox" aria-label="Commands">
        {commands.slice(0, paletteMax).map((command, at) => (
          // The keyboard stays in the field; this is for the pointer.
          <li
            key={command.label + command.hint}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === index}
            onClick={() => run(command)}
          >
            {command.label}
            <span class="soft">{command.hint}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

const paletteMax = 12;

function Help({ onClose }: { readonly onClose: () => void }) {
  const keys: readonly (readonly [string, string])[] = [
    ["⌘K or /", "Go to a screen, a range, an id"],
    ["f", "Freeze the figures"],
    ["?", "This list"],
    ["← →", "In a chart: the next column; Enter opens it"],
    ["Esc", "Close what is open"],
    ...screens.map(([key, , label]) => [`g ${key}`, label] as const),
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
