/** Events that could not be booked: why, and replay. */
import { useState } from "preact/hooks";
import { call } from "../../api/client.js";
import type { One, RejectView, ReplayAnswer } from "../../api/manage-answers.js";
import { providerName } from "../../format/names.js";
import { count } from "../../format/numbers.js";
import { ActionButton } from "../../parts/action-form.js";
import { ListTable } from "../../parts/list-table.js";
import { OneOfMenu, chosenOf, oneOf } from "../../parts/menu.js";
import { Empty, Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { useView } from "../../state/view.js";
import { useList, useManagePath, useMayManage } from "./manage.js";
import { reasonWords } from "./reject-reasons.js";
import { When } from "../../parts/when.js";

const states = oneOf("state", "open", { open: "Open", replayed: "Replayed", resolved: "Resolved" });

export function Rejects() {
  const view = useView();
  const path = `${useManagePath()}/rejects`;
  const isManager = useMayManage();
  const action = useAction();
  const [done, setDone] = useState<ReplayAnswer | null>(null);
  const state = chosenOf(view, states);
  const reason = view.get("reason");
  const of = view.get("of");
  const list = useList<RejectView>(path, { state, reason, provider: of });
  const replay = async (body: object): Promise<void> => {
    setDone(null);
    const { data } = await call<One<ReplayAnswer>>("POST", `${path}/replay`, { body });
    setDone(data);
  };
  return (
    <>
      <div class="section-head">
        <p class="soft">Events that arrived and are kept, but could not be booked.</p>
        <div class="row-form">
          <OneOfMenu name="State" of={states} />
          {reason === null ? null : (
            <a class="chip" href={view.with({ reason: null })}>
              {reasonWords(reason).title}
              <span class="unseen">: remove this filter</span> ✕
            </a>
          )}
          {of === null ? null : (
            <a class="chip" href={view.with({ of: null })}>
              {providerName(of)}
              <span class="unseen">: remove this filter</span> ✕
            </a>
          )}
          {isManager && state === "open" && list.rows.length > 0 ? (
            <ActionButton
              action={action}
              act={() => replay({ reason: reason ?? undefined, provider: of ?? undefined })}
            >
              {reason === null && of === null ? "Replay all" : "Replay all of these"}
            </ActionButton>
          ) : null}
        </div>
      </div>
      <Failure error={action.error} />
      {done === null ? null : <Done answer={done} />}
      <ListTable
        of={list}
        caption="Rejects, newest first"
        rowKey={({ id, step, reason: why }) => `${id} ${step} ${why}`}
        columns={[
          {
            head: "Received",
            cell: (row) => (
              <a href={view.to(`/events/${row.id}`)}>
                <When at={row.received_at} />
              </a>
            ),
          },
          {
            head: "Event",
            cell: (row) => (
              <>
                {providerName(row.provider)}
                {row.environment === "Test" ? <span class="soft"> test</span> : null}
                <br />
                <code class="soft">{row.native_type}</code>
              </>
            ),
          },
          { head: "Why", cell: (row) => <Why of={row} /> },
          {
            head: <span class="unseen">Replay</span>,
            isNumber: true,
            cell: (row) =>
              isManager && state !== "resolved" ? (
                <ActionButton action={action} act={() => replay({ ids: [row.id] })}>
                  Replay<span class="unseen"> {row.id}</span>
                </ActionButton>
              ) : null,
          },
        ]}
      >
        <Empty title={state === "open" ? "Nothing is left unbooked" : "None"}>
          {state === "open"
            ? "Every event that arrived and concerns revenue is booked."
            : "No event is in this state."}
        </Empty>
      </ListTable>
    </>
  );
}

function Why({ of }: { readonly of: RejectView }) {
  const view = useView();
  const { title, next } = reasonWords(of.reason);
  return (
    <div class="why">
      <a href={view.with({ reason: of.reason })} title="Only rejects for this reason">
        {title}
      </a>
      {of.detail === "" ? null : <p class="small">{of.detail}</p>}
      <p class="soft small">{next}</p>
    </div>
  );
}

function Done({ answer: { replayed, missing, more } }: { readonly answer: ReplayAnswer }) {
  return (
    <p class="notice" role="status">
      {count(replayed)} put back; what can be booked now leaves this list within seconds.
      {missing === 0 ? "" : ` ${count(missing)} can not be replayed: the stored call is gone.`}
      {more ? " More of them wait; replay once more." : ""}
    </p>
  );
}
