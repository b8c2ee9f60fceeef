/** Calls about the workspace on the screen, and lists of what it has. */
import type { List } from "../../api/manage-answers.js";
import type { CallError, Params } from "../../api/client.js";
import { urlOf } from "../../api/client.js";
import { useUrl } from "../../api/use-answer.js";
import { type Rest, usePages } from "../../parts/pages.js";
import { mayManage, workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";

/** @returns where calls about this workspace go to */
export function useManagePath(): string {
  return `/v1/manage/workspaces/${useView().workspace ?? ""}`;
}

export function useMayManage(): boolean {
  return mayManage(workspaceOf(useView().workspace));
}

export interface ManagedList<Row> {
  readonly rows: readonly Row[];
  readonly rest: Rest<Row>;
  readonly error: CallError | null;
  /** No answer came yet. */
  readonly isLoading: boolean;
}

const pageRows = "100";

/** @param path null: nothing to ask for */
export function useList<Row>(path: string | null, params: Params = {}): ManagedList<Row> {
  const asked = { limit: pageRows, ...params };
  const { answer, error } = useUrl<List<Row>>(path === null ? null : urlOf(path, asked));
  const rest = usePages<Row>(path ?? "", asked, answer);
  return { rows: rest.rows, rest, error, isLoading: path !== null && answer === null && !error };
}
