/** Alerts: what is watched, what fired, and the chat channel they may be sent to. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { z } from "zod";
import type {
  AlertChannel,
  AlertFiringView,
  AlertView,
  chatChannels,
} from "../../../../schemas/http/outbound/alerts.js";
import { call } from "../../../api/client.js";
import type { Member, One } from "../../../api/manage-answers.js";
import { useUrl } from "../../../api/use-answer.js";
import { ActionButton, ActionForm } from "../../../parts/action-form.js";
import { Confirm } from "../../../parts/confirm.js";
import { fieldOf } from "../../../parts/field.js";
import { ListTable } from "../../../parts/list-table.js";
import { type Listed, More } from "../../../parts/pages.js";
import { Empty, Failure } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useAction } from "../../../parts/use-action.js";
import { When } from "../../../parts/when.js";
import { useView } from "../../../state/view.js";
import { useList, useManagePath, useMayManage } from "../manage.js";
import { AlertForm } from "./alert-form.js";

export function Alerts() {
  const path = useManagePath();
  const isManager = useMayManage();
  const asked = useView().get("figure") !== null && isManager;
  /** What the form is of: an alert that is there, or a new one. */
  const [written, write] = useState<AlertView | "new" | null>(asked ? "new" : null);
  const alerts = useList<AlertView>(`${path}/alerts`);
  const firings = useList<AlertFiringView>(`${path}/alerts/firings`);
  const members = useList<Member>(`${path}/members`);
  const chat = useUrl<One<z.output<typeof chatChannels>>>(`${path}/chat`);
  const host = chat.answer?.data.chat?.host ?? null;
  const error = alerts.error === null ? (firings.error ?? chat.error) : null;
  const nameOf = (channel: AlertChannel): string =>
    channel.by === "chat"
      ? `Chat (${host ?? "not connected"})`
      : (members.rows.find(({ id }) => id === channel.member)?.name ?? "Somebody who left");
  return (
    <>
      <div class="section-head">
        <p class="soft">
          A message when a figure, events or a comparison become what you say. Each links to the
          screen that explains it.
        </p>
        {isManager && written !== "new" ? (
          <button type="button" class="button primary" onClick={() => write("new")}>
            New alert
          </button>
        ) : null}
      </div>
      <Failure error={error} />
      {isManager && written !== null ? (
        <Written
          key={written === "new" ? "new" : written.id}
          chatHost={host}
          of={written}
          write={write}
        />
      ) : null}
      <List of={alerts} path={`${path}/alerts`} nameOf={nameOf} edit={isManager ? write : null}>
        {written === null ? (
          <Empty title="No alerts yet">
            Each is tested on the last 90 days before it is saved, so that it is neither loud nor
            silent.
          </Empty>
        ) : null}
      </List>
      {firings.rows.length === 0 ? null : <Firings of={firings.rows} nameOf={nameOf} />}
      <More of={firings.rest} />
      {isManager ? <Chat path={`${path}/chat`} host={host} /> : null}
    </>
  );
}

function Written(props: {
  readonly chatHost: string | null;
  readonly of: AlertView | "new";
  readonly write: (next: null) => void;
}) {
  const { of, chatHost } = props;
  const title = of === "new" ? "New alert" : `Edit “${of.title}”`;
  return (
    <section class="settings-section" aria-label={of === "new" ? title : "Edit an alert"}>
      <h2>{title}</h2>
      <AlertForm
        chatHost={chatHost}
        of={of === "new" ? null : of}
        onDone={() => props.write(null)}
      />
    </section>
  );
}

type NameOf = (channel: AlertChannel) => string;

function List(props: {
  readonly of: Listed<AlertView>;
  readonly path: string;
  readonly nameOf: NameOf;
  /** Null: the reader may not. */
  readonly edit: ((alert: AlertView) => void) | null;
  /** What stands there without any. */
  readonly children: ComponentChildren;
}) {
  const { path, nameOf, edit } = props;
  const action = useAction();
  return (
    <>
      <Failure error={action.error} />
      <ListTable
        of={props.of}
        caption="Alerts"
        columns={[
          {
            head: "Alert",
            cell: ({ title, quiet }) => (
              <>
                {title}
                {quiet === null ? null : (
                  <div class="soft small">
                    Quiet {quiet.from} to {quiet.to}, {quiet.time_zone}
                  </div>
                )}
              </>
            ),
          },
          { head: "To", cell: ({ channels }) => channels.map(nameOf).join(", ") },
          { head: "State", cell: (row) => <State of={row} /> },
          {
            head: "Last fired",
            cell: (row) => (row.fired_at === null ? "Never" : <When at={row.fired_at} />),
          },
          {
            head: <span class="unseen">Changes</span>,
            isNumber: true,
            cell: (row) => {
              const { id, title, paused } = row;
              return edit === null ? null : (
                <span class="row-form">
                  <button type="button" class="button" onClick={() => edit(row)}>
                    Edit<span class="unseen"> {title}</span>
                  </button>
                  <ActionButton
                    action={action}
                    act={() => call("PATCH", `${path}/${id}`, { body: { paused: !paused } })}
                  >
                    {paused ? "Resume" : "Pause"}
                    <span class="unseen"> {title}</span>
                  </ActionButton>
                  <Confirm
                    label="Delete"
                    of={title}
                    title={`Delete “${title}”?`}
                    act={() => call("DELETE", `${path}/${id}`)}
                  >
                    Its firings go with it, and messages that are not sent yet.
                  </Confirm>
                </span>
              );
            },
          },
        ]}
      >
        {props.children}
      </ListTable>
    </>
  );
}

function State({ of }: { readonly of: AlertView }) {
  if (of.paused) return <span class="status">Paused</span>;
  if (of.problem !== null) return <span class="status bad">{of.problem}</span>;
  return of.is_firing ? (
    <span class="status bad">Fired</span>
  ) : (
    <span class="status good">Watching</span>
  );
}

function Firings({
  of,
  nameOf,
}: {
  readonly of: readonly AlertFiringView[];
  readonly nameOf: NameOf;
}) {
  return (
    <section class="settings-section">
      <h2>Fired</h2>
      <Table
        caption="What fired"
        rows={of}
        rowKey={({ id }) => id}
        columns={[
          { head: "When", cell: ({ at }) => <When at={at} /> },
          { head: "What", cell: ({ sentence, link }) => <a href={pathOf(link)}>{sentence}</a> },
          { head: "Until", cell: ({ ended_at: at }) => (at === null ? "Now" : <When at={at} />) },
          {
            head: "Sent",
            cell: ({ messages }) =>
              messages.map(({ channel, state, problem }) => (
                <span class="block" key={nameOf(channel)}>
                  {nameOf(channel)}: {stateNames[state]}
                  {state === "sent" || problem === null ? null : (
                    <span class="loss"> {problem}</span>
                  )}
                </span>
              )),
          },
        ]}
      />
    </section>
  );
}

const stateNames = { sent: "sent", waiting: "waits", given_up: "given up" } as const;

/** Opened here, not at the address the dashboard had when the alert was made. */
function pathOf(link: string): string {
  const { pathname, search } = new URL(link);
  return pathname + search;
}

function Chat({ path, host }: { readonly path: string; readonly host: string | null }) {
  const action = useAction();
  return (
    <section class="settings-section">
      <h2>Chat channel</h2>
      <p class="soft">
        Slack, Mattermost and others give an address for incoming messages. Alerts and digests of
        this workspace may be sent there.
      </p>
      {host === null ? (
        <ActionForm
          action={action}
          class="row-form bottom"
          send={(form) => call("POST", path, { body: { url: fieldOf(form, "url") } })}
        >
          <label>
            Incoming-webhook URL
            <input type="url" name="url" size={40} autocomplete="off" required />
          </label>
          <button type="submit" class="button" disabled={action.isBusy}>
            Connect and send a first message
          </button>
        </ActionForm>
      ) : (
        <p class="row-form">
          <span>
            Connected to <strong>{host}</strong>
          </span>
          <Confirm
            label="Disconnect"
            title={`Disconnect ${host}?`}
            act={() => call("DELETE", path)}
          >
            Alerts and digests for it are given up. The URL has to be entered again to come back.
          </Confirm>
        </p>
      )}
    </section>
  );
}
