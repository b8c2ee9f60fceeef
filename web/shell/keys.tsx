/** Keys that work on every screen; their dialogs are loaded when one is opened. */
import { signal } from "@preact/signals";
import { ErrorBoundary, useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useView } from "../state/view.js";
import { completeTo } from "../api/use-answer.js";
import { frozen } from "./freeze.js";
import { screens } from "./places.js";
import { screenOf } from "./screens.js";

const Palette = screenOf(() => import("./palette.js"));

const shown = signal<"nothing" | "palette" | "help">("nothing");

/** What is typed while the palette is on its way; null while it takes the keys itself. */
let early: string[] | null = [];

function takeEarly(): readonly string[] {
  const keys = early ?? [];
  early = null;
  return keys;
}

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
      if (shown.peek() === "palette" && early !== null) {
        if (key === "Escape") shown.value = "nothing";
        else if (key === "Enter" || key.length === 1) early.push(key);
        event.preventDefault();
        return;
      }
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

  const show = (what: typeof shown.value): void => void (shown.value = what);
  const { value } = shown;
  useEffect(() => {
    if (value !== "palette") early = [];
  }, [value]);
  if (value === "nothing") return null;
  return (
    <ErrorBoundary>
      <Palette view={view} shown={value} show={show} takeEarly={takeEarly} />
    </ErrorBoundary>
  );
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}
