/** The bar above every screen: its title, then range, interval, comparison, filters and freeze. */
import type { ComponentChildren } from "preact";
import { completeTo } from "../api/use-answer.js";
import { liveState } from "../api/live.js";
import { dayAfter, dayBefore, ranges } from "../state/ranges.js";
import { type FilterName, type View, useView } from "../state/view.js";
import { bothMoments, range as rangeText, time } from "../format/dates.js";
import { words } from "../format/names.js";
import { fieldOf } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Choice, Menu } from "../parts/menu.js";
import { AttentionLine } from "./attention.js";
import { Filters } from "./filters.js";
import { frozen } from "./freeze.js";
import { isSideOpen } from "./side-open.js";
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { SavedViews } from "./saved-views.js";

interface Controls {
  /** `optional`: without one the screen shows all time. */
  readonly range?: boolean | "optional";
  readonly interval?: boolean;
  readonly compare?: boolean;
  readonly filters?: readonly FilterName[];
}

const intervals = ["day", "week", "month", "quarter", "year"] as const;

interface Props {
  readonly title: string;
  readonly controls?: Controls;
  /** A screen without figures has nothing to freeze, to be complete to, or to miss. */
  readonly hasFigures?: boolean;
  /** What only this screen has. */
  readonly children?: ComponentChildren;
}

export function Bar(props: Props) {
  return (
    <>
      <Row {...props} />
      {props.hasFigures === false ? null : <AttentionLine />}
    </>
  );
}

function Row(props: Props) {
  const { controls = {}, hasFigures = true } = props;
  useEffect(() => {
    document.title = props.title;
  }, [props.title]);
  return (
    <div class="bar">
      <button
        type="button"
        class="button plain side-open"
        aria-label="Navigation"
        onClick={() => (isSideOpen.value = !isSideOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <h1>{props.title}</h1>
      <div class="controls">
        {controls.range === undefined || controls.range === false ? null : (
          <RangeMenu isOptional={controls.range === "optional"} />
        )}
        {controls.interval === true ? <IntervalMenu /> : null}
        {controls.compare === true ? <CompareMenu /> : null}
        {controls.filters === undefined ? null : <Filters names={controls.filters} />}
        {props.children}
      </div>
      {hasFigures ? (
        <div class="right">
          <SavedViews />
          <FreezeLink />
          <CompleteBadge />
        </div>
      ) : null}
    </div>
  );
}

export function rangeLabel({ range, rangeName }: View): string {
  return rangeName === "own" ? rangeText(range) : ranges[rangeName];
}

function RangeMenu({ isOptional }: { readonly isOptional: boolean }) {
  const view = useView();
  const { route } = useLocation();
  const { range, rangeName } = view;
  const isAll = isOptional && !view.hasRange;
  return (
    <Menu name="Range" label={isAll ? allTime : rangeLabel(view)}>
      {isOptional ? (
        <Choice href={view.withRange({})} isCurrent={isAll}>
          {allTime}
        </Choice>
      ) : null}
      {Object.entries(ranges).map(([name, text]) => (
        <Choice
          key={name}
          href={view.withRange({ range: name })}
          isCurrent={!isAll && name === rangeName}
        >
          {text}
        </Choice>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const from = fieldOf(event.currentTarget, "from");
          const last = fieldOf(event.currentTarget, "last");
          if (from === "" || last === "") return;
          event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
          route(view.withRange({ from, to: dayAfter(last) }));
        }}
        onInput={({ currentTarget: form }) => {
          const last = form.querySelector<HTMLInputElement>("[name=last]");
          const isReversed = last !== null && last.value < fieldOf(form, "from");
          last?.setCustomValidity(isReversed ? "The last day is before the first one." : "");
        }}
      >
        <label>
          <span class="soft small">First day</span>
          {/* Figures that arrive must not undo what is being entered. */}
          <input type="date" name="from" key={range.from} defaultValue={range.from} required />
        </label>
        <label>
          <span class="soft small">Last day</span>
          <input
            type="date"
            name="last"
            key={range.to}
            defaultValue={dayBefore(range.to)}
            required
          />
        </label>
        <p class="soft small">Days begin and end at 00:00 UTC.</p>
        <button type="submit" class="button">
          Show these days
        </button>
      </form>
    </Menu>
  );
}

const allTime = "All time";

function IntervalMenu() {
  const view = useView();
  return (
    <Menu name="By" label={words(view.interval)}>
      {intervals.map((interval) => (
        <Choice
          key={interval}
          href={view.with({ interval })}
          isCurrent={interval === view.interval}
        >
          {words(interval)}
        </Choice>
      ))}
    </Menu>
  );
}

export const comparisons = {
  none: "No comparison",
  previous: "Period before",
  year: "Year before",
  known: "As we knew it then",
} as const;

function CompareMenu() {
  const view = useView();
  const { route } = useLocation();
  return (
    <Menu name="Compared with" label={comparisons[view.comparison]}>
      {(["none", "previous", "year"] as const).map((name) => (
        <Choice
          key={name}
          href={view.with({ compare: name, compare_known_at: null })}
          isCurrent={name === view.comparison}
        >
          {comparisons[name]}
        </Choice>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const day = fieldOf(event.currentTarget, "day");
          if (day === "") return;
          event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
          const known = `${day}T00:00:00Z`;
          route(view.with({ compare: "known", compare_known_at: known }));
        }}
      >
        <label>
          <span class="soft small">As we knew it at 00:00 UTC on</span>
          <input
            type="date"
            name="day"
            max={new Date().toISOString().slice(0, 10)}
            key={view.comparedKnownAt}
            defaultValue={view.comparedKnownAt?.slice(0, 10) ?? ""}
            required
          />
        </label>
        <button type="submit" class="button">
          Compare
        </button>
      </form>
    </Menu>
  );
}

function FreezeLink() {
  const view = useView();
  return (
    <a
      class="button plain freeze"
      href={frozen(view, completeTo.value)}
      aria-label={view.isFrozen ? "Frozen" : "Freeze"}
      title={view.isFrozen ? "Back to now" : "A link that shows these figures for ever"}
    >
      <Icon name="freeze" />
      <span>{view.isFrozen ? "Frozen" : "Freeze"}</span>
    </a>
  );
}

function CompleteBadge() {
  const view = useView();
  const moment = view.knownAt ?? completeTo.value;
  const isLive = liveState.value === "live" && !view.isFrozen;
  return (
    <span
      class={isLive ? "badge live" : "badge"}
      title={moment === null ? undefined : `All that came up to then is in: ${bothMoments(moment)}`}
    >
      <span class="unseen-in-little-room">complete to</span> {moment === null ? "–" : time(moment)}
    </span>
  );
}
