/** What MRR and revenue are meant to be in a month: lines on charts, written from the menu. */
import type { z } from "zod";
import type { Interval } from "../../schemas/http/series.js";
import type { goal, goalFigures } from "../../schemas/http/members.js";
import { call } from "../api/client.js";
import { useUrl } from "../api/use-answer.js";
import { month as monthName } from "../format/dates.js";
import { money } from "../format/numbers.js";
import { ActionForm, Remove } from "../parts/action-form.js";
import { fieldOf } from "../parts/field.js";
import { useAction } from "../parts/use-action.js";
import { dayText } from "../state/ranges.js";
import { useView } from "../state/view.js";

type Goal = z.output<typeof goal>;
type GoalFigure = (typeof goalFigures)[number];

const figureNames = { mrr: "MRR", revenue: "Revenue" } as const;

/** All of them are on one page (`limits.goalsMax`). */
function useGoalList(isWanted: boolean): readonly Goal[] {
  const { workspace } = useView();
  const url = workspace === null || !isWanted ? null : goalsUrl(workspace);
  const { answer } = useUrl<{ data: readonly Goal[] }>(url && `${url}?limit=200`);
  return answer?.data ?? [];
}

function goalsUrl(workspace: string): string {
  return `/v1/manage/workspaces/${workspace}/goals`;
}

/**
 * A goal is one of the whole workspace: a part of it, which filters show, has none. That of MRR is
 * of the end of its month and stands in whatever interval ends with it; that of revenue is of all
 * its days, so only months have one.
 *
 * @returns what the interval that begins on a day is meant to come to
 */
export function useGoals(figure: GoalFigure): (from: string, interval: Interval) => Marked {
  const view = useView();
  const hasFilters = Object.keys(view.mrrFilters).length > 0;
  const goals = useGoalList(!hasFilters).filter((each) => each.figure === figure);
  return (from, interval) => {
    const month = lastMonthOf(from, interval);
    const isOwn = figure === "mrr" ? month !== null : interval === "month";
    return isOwn ? goals.find((each) => each.month === month)?.amount : undefined;
  };
}

type Marked = number | undefined;

/** The month that ends with the interval; null where none does. */
function lastMonthOf(from: string, interval: Interval): string | null {
  const date = new Date(from);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (interval === "year") return `${year}-12`;
  if (interval === "quarter") return textOf(year, month - (month % 3) + 2);
  if (interval === "month") return textOf(year, month);
  const days = interval === "week" ? 7 : 1;
  const next = new Date(Date.UTC(year, month, date.getUTCDate() + days));
  return next.getUTCMonth() === month ? null : textOf(year, month);
}

function textOf(year: number, month: number): string {
  return dayText(Date.UTC(year, month)).slice(0, 7);
}

/** The list in the menu of a view. */
export function Goals({ isWanted }: { readonly isWanted: boolean }) {
  const action = useAction();
  const { workspace } = useView();
  const goals = useGoalList(isWanted).toSorted((one, other) =>
    (one.month + one.figure).localeCompare(other.month + other.figure),
  );
  const url = goalsUrl(workspace ?? "");
  return (
    <>
      <h3>Goals</h3>
      <div class="menu-list">
        {goals.map(({ id, figure, month, amount, currency }) => {
          const text = `${figureNames[figure]} ${money(amount, currency)}`;
          return (
            <div class="menu-row" key={id}>
              <span class="menu-text">
                {text} <span class="soft">{monthName(`${month}-01`)}</span>
              </span>
              <Remove
                action={action}
                path={`${url}/${id}`}
                label={`Delete the goal ${text} of ${monthName(`${month}-01`)}`}
              />
            </div>
          );
        })}
      </div>
      <ActionForm
        action={action}
        send={(form) => {
          const figure = fieldOf(form, "figure");
          const month = fieldOf(form, "month");
          const amount = form.querySelector<HTMLInputElement>("[name=amount]")?.valueAsNumber;
          const there = goals.find((each) => each.figure === figure && each.month === month);
          return there === undefined
            ? call("POST", url, { body: { figure, month, amount } })
            : call("PATCH", `${url}/${there.id}`, { body: { amount } });
        }}
      >
        <label>
          <span class="soft small">Goal of</span>
          <select name="figure">
            <option value="mrr">MRR at the end of</option>
            <option value="revenue">Revenue in</option>
          </select>
        </label>
        <label>
          <span class="soft small">Month</span>
          <input
            type="text"
            name="month"
            size={8}
            pattern="\d{4}-(0[1-9]|1[0-2])"
            placeholder="2026-05"
            defaultValue={dayText(Date.now()).slice(0, 7)}
            required
          />
        </label>
        <label>
          <span class="soft small">Amount</span>
          <input type="number" name="amount" min="0" step="any" required />
        </label>
        <button type="submit" class="button">
          Set the goal
        </button>
      </ActionForm>
    </>
  );
}
