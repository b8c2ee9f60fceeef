/** Notes of the workspace on days: shown in charts over time, written from the menu of a view. */
import type { z } from "zod";
import type { annotation } from "../../schemas/http/members.js";
import { useUrl } from "../api/use-answer.js";
import { useView } from "../state/view.js";

export type Annotation = z.output<typeof annotation>;

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
    const from = since.slice(0, 10);
    const found = list.filter(({ day }) => day >= from && day < until);
    return found.length === 0 ? undefined : found.map(({ text }) => text).join("; ");
  };
}
