/** Notes of the workspace on days: shown in charts over time, written from the menu of a view. */
import type { z } from "zod";
import type { annotation } from "../../schemas/http/members.js";
import { useUrl } from "../api/use-answer.js";
import { day } from "../format/dates.js";
import { useView } from "../state/view.js";

export type Annotation = z.output<typeof annotation>;

/** All of them are on one page (`limits.annotationsMax`). */
export function useAnnotationList(isWanted = true): readonly Annotation[] {
  const { workspace } = useView();
  const url = workspace === null || !isWanted ? null : annotationsUrl(workspace);
  const { answer } = useUrl<{ data: readonly Annotation[] }>(url && `${url}?limit=200`);
  return answer?.data ?? [];
}

export function annotationsUrl(workspace: string): string {
  return `/v1/manage/workspaces/${workspace}/annotations`;
}

/** @returns the notes on the days of an interval, as one text */
export function useAnnotations(): (since: string, until: string) => string | undefined {
  const list = useAnnotationList();
  return (since, until) => {
    const found = between(list, since, until);
    return found.length === 0 ? undefined : found.map(({ text }) => text).join("; ");
  };
}

/** The notes on the days shown, to be read without pointing at a chart. */
export function NoteList() {
  const { range } = useView();
  const notes = between(useAnnotationList(), range.from, range.to);
  if (notes.length === 0) return null;
  return (
    <section class="notes" aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      <ul>
        {notes.map(({ id, day: on, text }) => (
          <li key={id}>
            <span class="soft">{day(on)}</span> <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function between(list: readonly Annotation[], since: string, until: string) {
  const from = since.slice(0, 10);
  return list
    .filter(({ day: on }) => on >= from && on < until)
    .toSorted((one, other) => one.day.localeCompare(other.day));
}
