/** Views that were saved in the workspace, notes on days, and goals. */
import { useState } from "preact/hooks";
import type { z } from "zod";
import type { savedView } from "../../schemas/http/members.js";
import { CallError, call } from "../api/client.js";
import { reloadAnswers, useUrl } from "../api/use-answer.js";
import { day } from "../format/dates.js";
import { fieldOf } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Failure } from "../parts/states.js";
import { dayText } from "../state/ranges.js";
import { mayManage, workspaceOf } from "../state/session.js";
import { type View, useView } from "../state/view.js";
import { annotationsUrl, useAnnotationList } from "./annotations.js";
import { Goals } from "./goals.js";

type SavedView = z.output<typeof savedView>;

export function SavedViews() {
  const view = useView();
  const [error, setError] = useState<CallError | null>(null);
  // Not before somebody opens it: the figures wait for the same processor.
  const [isWanted, setWanted] = useState(false);
  const isManager = mayManage(workspaceOf(view.workspace));
  const base = `/v1/manage/workspaces/${view.workspace ?? ""}`;
  const act: Act = async (work) => {
    try {
      setError(null);
      await work();
      reloadAnswers();
      return true;
    } catch (thrown) {
      setError(CallError.of(thrown));
      return false;
    }
  };
  return (
    <Menu
      label={<span class="unseen">Saved views and notes</span>}
      icon="bookmark"
      isPlain
      onOpen={() => setWanted(true)}
    >
      <Failure error={error} />
      <Views view={view} base={base} isWanted={isWanted} isManager={isManager} act={act} />
      {isManager ? <Notes view={view} isWanted={isWanted} act={act} /> : null}
      {isManager ? <Goals isWanted={isWanted} act={act} /> : null}
    </Menu>
  );
}

/** @returns whether it was done */
export type Act = (work: () => Promise<unknown>) => Promise<boolean>;

function Views(props: {
  readonly view: View;
  readonly base: string;
  readonly isWanted: boolean;
  readonly isManager: boolean;
  readonly act: Act;
}) {
  const { view, base, isManager, act } = props;
  const url = `${base}/views`;
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
            <button
              type="button"
              class="button plain"
              aria-label={`Delete ${name}`}
              onClick={() => void act(() => call("DELETE", `${url}/${id}`))}
            >
              <Icon name="close" />
            </button>
          ) : null}
        </div>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const { currentTarget: form } = event;
          const body = {
            name: fieldOf(form, "name"),
            path: view.with({}),
            ...(fieldOf(form, "shared") === "" ? {} : { shared: true }),
          };
          void act(() => call("POST", url, { body })).then((isDone) => isDone && form.reset());
        }}
      >
        <label>
          <span class="soft small">Save this view as</span>
          <br />
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
      </form>
    </>
  );
}

function Notes(props: { readonly view: View; readonly isWanted: boolean; readonly act: Act }) {
  const { view, act } = props;
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
          <button
            type="button"
            class="button plain"
            aria-label={`Delete the note ${text}`}
            onClick={() => void act(() => call("DELETE", `${url}/${id}`))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const { currentTarget: form } = event;
          const body = { day: fieldOf(form, "day"), text: fieldOf(form, "text") };
          void act(() => call("POST", url, { body })).then((isDone) => isDone && form.reset());
        }}
      >
        <label>
          <span class="soft small">Day</span>
          <br />
          <input type="date" name="day" defaultValue={dayText(Date.now())} required />
        </label>
        <label>
          <span class="soft small">Note, shown in charts</span>
          <br />
          <input type="text" name="text" maxLength={500} required />
        </label>
        <button type="submit" class="button">
          Add
        </button>
      </form>
    </>
  );
}
