/** What was sent to an endpoint, what waits, and sending it again. */
import { useState } from "preact/hooks";
import type { z } from "zod";
import type {
  WebhookDeliveryView,
  WebhookEndpointView,
  replayedCount,
} from "../../../../schemas/http/outbound/webhooks.js";
import { call } from "../../../api/client.js";
import type { One } from "../../../api/manage-answers.js";
import { useReloadWhile } from "../../../api/use-answer.js";
import { count } from "../../../format/numbers.js";
import { ActionButton, ActionForm } from "../../../parts/action-form.js";
import { Dialog } from "../../../parts/dialog.js";
import { fieldOf } from "../../../parts/field.js";
import { ListTable } from "../../../parts/list-table.js";
import { OneOfMenu, chosenOf, oneOf } from "../../../parts/menu.js";
import { Empty, Failure } from "../../../parts/states.js";
import { useAction } from "../../../parts/use-action.js";
import { When } from "../../../parts/when.js";
import { useView } from "../../../state/view.js";
import { useList } from "../manage.js";

const states = oneOf("state", "all", {
  all: "All deliveries",
  pending: "Waiting",
  delivered: "Taken",
  failed: "Failed",
});

export function Deliveries(props: { readonly of: WebhookEndpointView; readonly path: string }) {
  const { of } = props;
  const view = useView();
  const path = `${props.path}/${of.id}/deliveries`;
  const action = useAction();
  const [done, setDone] = useState<number | null>(null);
  const [isReplaying, setReplaying] = useState(false);
  const [opened, setOpened] = useState<WebhookDeliveryView | null>(null);
  const state = chosenOf(view, states);
  const list = useList<WebhookDeliveryView>(path, { state: state === "all" ? null : state });
  const isDisabled = of.disabled_at !== null;
  const isOnItsWay = list.rows.some((row) => row.state === "pending" && row.attempts === 0);
  useReloadWhile(!isDisabled && isOnItsWay);
  return (
    <>
      <p>
        <a href={view.to("/settings/webhooks")}>All endpoints</a>
      </p>
      <h2 class="step-title">{of.name ?? of.url}</h2>
      <div class="section-head">
        <OneOfMenu name="State" of={states} />
        <div class="row-form">
          <ActionButton
            action={action}
            act={() => call("POST", `${props.path}/${of.id}/test`)}
            isDisabled={isDisabled}
          >
            Send a test
          </ActionButton>
          <button
            type="button"
            class="button"
            disabled={isDisabled}
            onClick={() => setReplaying(true)}
          >
            Replay
          </button>
        </div>
      </div>
      {isDisabled ? <p class="soft">The endpoint is disabled: nothing is sent.</p> : null}
      <Failure error={action.error} />
      {done === null ? null : (
        <p role="status">{done === 1 ? "1 is sent again." : `${count(done)} are sent again.`}</p>
      )}
      <ListTable
        of={list}
        caption="Deliveries, newest first"
        columns={[
          { head: "Made", cell: (row) => <When at={row.created_at} /> },
          { head: "Event", cell: ({ type }) => <code>{type}</code> },
          { head: "State", cell: (row) => <State of={row} /> },
          { head: "Attempts", isNumber: true, cell: ({ attempts }) => count(attempts) },
          {
            head: <span class="unseen">Changes</span>,
            isNumber: true,
            cell: (row) => (
              <span class="row-form">
                <button type="button" class="button" onClick={() => setOpened(row)}>
                  Show<span class="unseen"> {row.message}</span>
                </button>
                <ActionButton
                  action={action}
                  act={() => call("POST", `${path}/${row.id}/replay`)}
                  isDisabled={isDisabled}
                >
                  Replay<span class="unseen"> {row.message}</span>
                </ActionButton>
              </span>
            ),
          },
        ]}
      >
        <Empty title="None">Deliveries are kept for 30 days.</Empty>
      </ListTable>
      {opened === null ? null : (
        <Dialog title={opened.type} onClose={() => setOpened(null)}>
          <p class="soft">
            webhook-id <code>{opened.message}</code>
          </p>
          <pre class="digest-preview">{JSON.stringify(JSON.parse(opened.payload), null, 2)}</pre>
        </Dialog>
      )}
      {isReplaying ? (
        <Replay
          path={path}
          onDone={(replayed) => {
            setDone(replayed);
            setReplaying(false);
          }}
          onClose={() => setReplaying(false)}
        />
      ) : null}
    </>
  );
}

function State({ of }: { readonly of: WebhookDeliveryView }) {
  if (of.state === "delivered") {
    return <span class="status good">Taken ({of.response_status})</span>;
  }
  const next = of.next_try_at;
  return (
    <span class={of.state === "failed" ? "status bad" : "status waiting"}>
      {of.state === "failed" ? "Failed" : "Waiting"}
      {of.problem === null ? null : <span class="soft"> {of.problem}</span>}
      {next === null || of.attempts === 0 ? null : (
        <span class="soft">
          {" "}
          Next try <When at={next} />
        </span>
      )}
    </span>
  );
}

function Replay(props: {
  readonly path: string;
  readonly onDone: (replayed: number) => void;
  readonly onClose: () => void;
}) {
  const action = useAction();
  const replay = async (form: HTMLFormElement): Promise<void> => {
    const body = { since: `${fieldOf(form, "since")}T00:00:00Z`, state: fieldOf(form, "state") };
    const answer = await call<One<z.output<typeof replayedCount>>>("POST", `${props.path}/replay`, {
      body,
    });
    props.onDone(answer.data.replayed);
  };
  return (
    <Dialog title="Replay deliveries" onClose={props.onClose}>
      <ActionForm action={action} submit="Send again" class="stack" send={(form) => replay(form)}>
        <label>
          Of this day (UTC) and later
          <input
            type="date"
            name="since"
            required
            defaultValue={new Date().toISOString().slice(0, 10)}
          />
        </label>
        <label>
          Which
          <select name="state">
            <option value="failed">Those that failed</option>
            <option value="all">All, those that were taken, too</option>
          </select>
        </label>
      </ActionForm>
    </Dialog>
  );
}
