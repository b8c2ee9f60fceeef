/** Views that were saved in the workspace, notes on days, and goals. */
import { useState } from "preact/hooks";
import type { z } from "zod";
import type { savedView } from "../../schemas/http/members.js";
import { call } from "../api/client.js";
import { useUrl } from "../api/use-answer.js";
import { day } from "../format/dates.js";
import { ActionForm, Remove } from "../parts/action-form.js";
import { fieldOf } from "../parts/field.js";
import { Menu } from "../parts/menu.js";
import { useAction } from "../parts/use-action.js";
import { dayText } from "../state/ranges.js";
import { mayManage, workspaceOf } from "../state/session.js";
import { type View, useView } from "../state/view.js";
import { annotationsUrl, useAnnotationList } from "./annotations.js";
import { Goals } from "./goals.js";

type SavedView = z.output<typeof savedView>;

export function SavedViews() {
  const view = useView();
  // Not before somebody opens it: the figures wait for the same processor.
  const [isWanted, setWanted] = useState(false);
  const isManager = mayManage(workspaceOf(view.workspace));
  return (
    <Menu
      label={<span class="unseen">Saved views and notes</span>}
      icon="bookmark"
      isPlain
      onOpen={() => setWanted(true)}
    >
      <Views view={view} isWanted={isWanted} isManager={isManager} />
      {isManager ? <Notes view={view} isWanted={isWanted} /> : null}
      {isManager ? <Goals isWanted={isWanted} /> : null}
    </Menu>
  );
}

function Views(props: {
  readonly view: View;
  readonly isWanted: boolean;
  readonly isManager: boolean;
}) {
  const { view, isManager } = props;
  const action = useAction();
  const url = `/v1/manage/workspaces/${view.workspace ?? ""}/views`;
  const { answer } = useUrl<{ data: readonly SavedView[] }>(
    props.isWanted ? `${url}?limit=200` : null,
  );
  return (
    <>
      <h3>Saved views</h3>
      {answer?.data.length === 0 ? <p class="soft small menu-text">None yet.</p> : null}
      {answer?.data.map(({ id, name, path, own, shared }) => (
        <div class="menu-row" key={id}>
          <a href={path}>
            <span class="cut">{name}</span> {shared ? <span class="soft">shared</span> : null}
          </a>
          {own || isManager ? (
            <Remove action={action} path={`${url}/${id}`} label={`Delete ${name}`} />
          ) : null}
        </div>
      ))}
      <ActionForm
        action={action}
        send={async (form) => {
          const body = {
            name: fieldOf(form, "name"),
            path: view.with({}),
            ...(fieldOf(form, "shared") === "" ? {} : { shared: true }),
          };
          await call("POST", url, { body });
          form.reset();
        }}
      >
        <label>
          <span class="soft small">Save this view as</span>
          <input type="text" name="name" maxLength={200} required />
        </label>
        {isManager ? (
          <label>
            <input type="checkbox" name="shared" /> For all members
          </label>
        ) : null}
        <button type="submit" class="button">
          Save
        </button>
      </ActionForm>
    </>
  );
}

function Notes(props: { readonly view: View; readonly isWanted: boolean }) {
  const { view } = props;
  const action = useAction();
  const list = useAnnotationList(props.isWanted);
  const url = annotationsUrl(view.workspace ?? "");
  return (
    <>
      <h3>Notes on days</h3>
      {list.map(({ id, day: on, text }) => (
        <div class="menu-row" key={id}>
          <span class="menu-text">
            {text} <span class="soft">{day(on)}</span>
          </span>
          <Remove action={action} path={`${url}/${id}`} label={`Delete the note ${text}`} />
        </div>
      ))}
      <ActionForm
        action={action}
        send={async (form) => {
          const body = { day: fieldOf(form, "day"), text: fieldOf(form, "text") };
          await call("POST", url, { body });
          form.reset();
        }}
      >
        <label>
          <span class="soft small">Day</span>
          <input type="date" name="day" defaultValue={dayText(Date.now())} required />
        </label>
        <label>
          <span class="soft small">Note, shown in charts</span>
          <input type="text" name="text" maxLength={500} required />
        </label>
        <button type="submit" class="button">
          Add
        </button>
      </ActionForm>
    </>
  );
}
