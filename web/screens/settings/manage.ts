/** Calls about the workspace on the screen, and lists of what it has. */
import type { List } from "../../api/manage-answers.js";
import type { Params } from "../../api/client.js";
import { urlOf } from "../../api/client.js";
import { useUrl } from "../../api/use-answer.js";
import { type Listed, listed, usePages } from "../../parts/pages.js";
import { mayManage, workspaceOf } from "../../state/session.js";
import { useView } from "../../state/view.js";

/** @returns where calls about this workspace go to */
export function useManagePath(): string {
  return `/v1/manage/workspaces/${useView().workspace ?? ""}`;
}

export function useMayManage(): boolean {
  return mayManage(workspaceOf(useView().workspace));
}

const pageRows = "100";

/** @param path null: nothing to ask for */
export function useList<Row>(path: string | null, params: Params = {}): Listed<Row> {
  const asked = { limit: pageRows, ...params };
  const loaded = useUrl<List<Row>>(path === null ? null : urlOf(path, asked));
  const list = listed(loaded, usePages<Row>(path ?? "", asked, loaded.answer));
  return { ...list, isLoading: path !== null && list.isLoading };
}
