/** What the palette offers for a text: screens and actions first, then what an id may name. */
import { completeTo } from "../api/use-answer.js";
import { ranges } from "../state/ranges.js";
import { ownsInstallation, session } from "../state/session.js";
import { type View, mrrFilterNames } from "../state/view.js";
import { frozen } from "./freeze.js";
import { type Place, screens } from "./places.js";
import { installationPages, settingsPages } from "./settings-pages.js";
import { nextScheme } from "./scheme.js";

export interface Command {
  readonly label: string;
  readonly hint: string;
  /** Where it leads, or what it does. */
  readonly act: string | (() => void);
}

/** @param showKeys opens the list of keys */
export function commandsOf(view: View, text: string, showKeys: () => void): readonly Command[] {
  const now = session.peek();
  const { workspaces } = now.is === "in" ? now.session : { workspaces: [] };
  const go = ({ path, name, key }: Place, hint: string): Command => ({
    label: name,
    hint: key === undefined ? hint : `g ${key}`,
    act: view.to(path),
  });
  const commands: readonly Command[] = [
    ...screens.map((place) => go(place, "Screen")),
    ...Object.entries(ranges).map(([range, label]) => ({
      label,
      hint: "Range",
      act: view.withRange({ range }),
    })),
    {
      label: view.isFrozen ? "Back to the figures of now" : "Freeze these figures",
      hint: "f",
      act: frozen(view, completeTo.peek()),
    },
    { label: "Remove all filters", hint: "Filter", act: withoutFilters(view) },
    { label: "Change colours", hint: "Dark or light", act: nextScheme },
    { label: "Keys", hint: "?", act: showKeys },
    ...settingsPages.map((place) => go(place, "Settings")),
    ...(ownsInstallation() ? installationPages.map((place) => go(place, "Installation")) : []),
    ...workspaces.map(({ id, name }) => ({
      label: name,
      hint: "Workspace",
      act: `${view.path}?workspace=${id}`,
    })),
  ];
  const wanted = text.trim().toLowerCase();
  const matching = commands
    .map((command) => ({ command, rank: rankOf(command, wanted) }))
    .filter(({ rank }) => rank < ranks.none)
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ command }) => command);
  return [...matching, ...lookups(view, text.trim())];
}

const ranks = { begins: 0, beginsWord: 1, within: 2, hint: 3, none: 4 } as const;

function rankOf({ label, hint }: Command, wanted: string): number {
  const name = label.toLowerCase();
  if (name.startsWith(wanted)) return ranks.begins;
  if (name.includes(` ${wanted}`)) return ranks.beginsWord;
  if (name.includes(wanted)) return ranks.within;
  return hint.toLowerCase().includes(wanted) ? ranks.hint : ranks.none;
}

/** What looks like an id, which no word does, opens what it names. */
function lookups(view: View, text: string): readonly Command[] {
  if (text.length < 6 || /\s/.test(text) || !/[\d_@]/.test(text)) return [];
  const open = (label: string, act: string): Command => ({ label, hint: text, act });
  if (text.startsWith("tx_norm_")) {
    return [open("Open the transaction", view.to("/transactions", { open: text }))];
  }
  if (text.startsWith("evt_norm_")) return [open("Open the event", view.to(`/events/${text}`))];
  if (/^[0-9A-Za-z]{32}$/.test(text)) {
    return [open("Open the account", view.to(`/accounts/${text}`))];
  }
  // Whoever has it is meant, whatever part of the figures is shown.
  const found = { ...noFilters, search: text, open: "only" };
  const what = text.includes("@") ? "an e-mail" : "a provider's id";
  const customers = open(`Customers by ${what}`, view.to("/accounts", found));
  const payments = open(
    "Transactions by a provider's id",
    view.to("/transactions", { search: text }),
  );
  return /^(cus|ctm)_|@/.test(text) ? [customers, payments] : [payments, customers];
}

const noFilters = Object.fromEntries([...mrrFilterNames, "segment"].map((name) => [name, null]));

function withoutFilters(view: View): string {
  return view.with(noFilters);
}
