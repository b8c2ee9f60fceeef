/** The menu of what the range is compared with: the end of another period. */
import { useLocation } from "preact-iso";
import { day } from "../../format/dates.js";
import { fieldOf } from "../../parts/field.js";
import { Choice, Menu } from "../../parts/menu.js";
import { comparedRange, dayAfter, dayBefore } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { periodOf } from "./period.js";

export function AgainstMenu() {
  const view = useView();
  const { route } = useLocation();
  const { days } = periodOf(view);
  const yearBefore = comparedRange(view.range, "year")?.to ?? view.range.from;
  const last = day(dayBefore(days.from));
  const isOwn = view.get("against") !== null;
  const isYear = !isOwn && view.comparison === "year";
  return (
    <Menu name="Compared with" label={`End of ${last}`}>
      <Choice href={view.with({ against: null, compare: null })} isCurrent={!isOwn && !isYear}>
        Period before, to {day(dayBefore(view.range.from))}
      </Choice>
      <Choice href={view.with({ against: null, compare: "year" })} isCurrent={isYear}>
        Year before, to {day(dayBefore(yearBefore))}
      </Choice>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const chosen = fieldOf(event.currentTarget, "last");
          if (chosen === "") return;
          event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
          route(view.with({ against: dayAfter(chosen) }));
        }}
      >
        <label>
          <span class="soft small">Another period, to the end of</span>
          <input
            type="date"
            name="last"
            max={dayBefore(dayBefore(view.range.to))}
            key={days.from}
            defaultValue={dayBefore(days.from)}
            required
          />
        </label>
        <p class="soft small">Days begin and end at 00:00 UTC.</p>
        <button type="submit" class="button">
          Compare
        </button>
      </form>
    </Menu>
  );
}
