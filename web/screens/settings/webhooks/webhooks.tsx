/** Outgoing webhooks: endpoints, what each gets, and how it goes. */
import { useState } from "preact/hooks";
import type { WebhookEndpointView } from "../../../../schemas/http/outbound/webhooks.js";
import { call } from "../../../api/client.js";
import type { One } from "../../../api/manage-answers.js";
import { count } from "../../../format/numbers.js";
import { ActionButton } from "../../../parts/action-form.js";
import { Confirm } from "../../../parts/confirm.js";
import { Copy } from "../../../parts/copy.js";
import { ListTable } from "../../../parts/list-table.js";
import { Empty, Failure } from "../../../parts/states.js";
import { useAction } from "../../../parts/use-action.js";
import { When } from "../../../parts/when.js";
import { useView } from "../../../state/view.js";
import { useList, useManagePath, useMayManage } from "../manage.js";
import { Roll } from "../roll.js";
import { Deliveries } from "./deliveries.js";
import { EndpointForm, type SavedEndpoint } from "./form.js";

export function Webhooks() {
  const view = useView();
  const path = `${useManagePath()}/webhooks`;
  const isManager = useMayManage();
  const list = useList<WebhookEndpointView>(isManager ? path : null);
  const [secret, setSecret] = useState<string | null>(null);
  const [open, setOpen] = useState<"new" | WebhookEndpointView | null>(null);
  const [rolled, setRolled] = useState<WebhookEndpointView | null>(null);
  if (!isManager) return <p class="soft">Admins and owners of the workspace see its webhooks.</p>;
  const [, chosen] = /^\/settings\/webhooks\/(\w+)$/.exec(view.path) ?? [];
  const endpoint = list.rows.find(({ id }) => id === chosen);
  if (endpoint !== undefined) return <Deliveries key={endpoint.id} of={endpoint} path={path} />;
  return (
    <>
      <div class="section-head">
        <p class="soft">
          What happens here is sent to your programs, signed (Standard Webhooks).{" "}
          <a href="/docs">All calls</a>
        </p>
        <button type="button" class="button primary" onClick={() => setOpen("new")}>
          Add an endpoint
        </button>
      </div>
      {secret === null ? null : (
        <div class="notice" role="status">
          <p>
            <strong>Copy this secret now. It is not shown again.</strong>
          </p>
          <Copy text={secret} name="secret" />
        </div>
      )}
      <ListTable
        of={list}
        caption="Webhook endpoints"
        columns={[
          {
            head: "Endpoint",
            cell: (row) => (
              <>
                <a class="cut" href={view.to(`/settings/webhooks/${row.id}`)}>
                  {row.name ?? hostOf(row.url)}
                </a>
                <div class="soft">
                  {row.name === null ? row.environment : `${hostOf(row.url)}, ${row.environment}`}
                </div>
              </>
            ),
          },
          { head: "Events", cell: (row) => <Events of={row} /> },
          { head: "State", cell: (row) => <State of={row} /> },
          { head: "Waiting", isNumber: true, cell: ({ pending }) => count(pending) },
          {
            head: <span class="unseen">Changes</span>,
            isNumber: true,
            cell: (row) => (
              <Changes
                of={row}
                path={`${path}/${row.id}`}
                onChange={() => setOpen(row)}
                onRoll={() => setRolled(row)}
              />
            ),
          },
        ]}
      >
        <Empty title="No endpoints yet">
          Add the address of a program that wants to hear of transactions, MRR or problems.
        </Empty>
      </ListTable>
      {open === null ? null : (
        <EndpointForm
          of={open === "new" ? null : open}
          path={path}
          onDone={(saved) => {
            if (saved.secret !== undefined) setSecret(saved.secret);
            setOpen(null);
          }}
          onClose={() => setOpen(null)}
        />
      )}
      {rolled === null ? null : (
        <Roll
          title={`Roll the secret of ${rolled.name ?? hostOf(rolled.url)}`}
          what="secret"
          roll={async (overlap) => {
            const body = { old_valid_for: overlap };
            const to = `${path}/${rolled.id}/secret`;
            const { data } = await call<One<SavedEndpoint>>("POST", to, { body });
            setSecret(data.secret ?? null);
            setRolled(null);
          }}
          onClose={() => setRolled(null)}
        />
      )}
    </>
  );
}

const hostOf = (url: string): string => new URL(url).host;

function Events({ of }: { readonly of: WebhookEndpointView }) {
  const filters = Object.entries(of.filters).map(([name, value]) =>
    name === "segment" ? "a segment" : `${name} ${value}`,
  );
  return (
    <>
      <code>{of.events.join(", ")}</code>
      {filters.length === 0 ? null : <span class="soft"> {filters.join(", ")}</span>}
    </>
  );
}

const disabledBy = {
  member: "Disabled",
  failing: "Disabled: it took nothing for 3 days",
  gone: "Disabled: it answered that it is gone",
  too_many: "Disabled: too many waited",
} as const;

function State({ of }: { readonly of: WebhookEndpointView }) {
  if (of.disabled_by !== null) return <span class="status">{disabledBy[of.disabled_by]}</span>;
  if (of.failing_since === null) return <span class="status good">Sending</span>;
  return (
    <>
      <span class="status bad">
        <span>
          Failing since <When at={of.failing_since} />
        </span>
      </span>
      {of.problem === null ? null : <div class="small soft">{of.problem}</div>}
    </>
  );
}

function Changes(props: {
  readonly of: WebhookEndpointView;
  readonly path: string;
  readonly onChange: () => void;
  readonly onRoll: () => void;
}) {
  const { of, path } = props;
  const action = useAction();
  const name = of.name ?? hostOf(of.url);
  const isDisabled = of.disabled_at !== null;
  return (
    <span class="row-form">
      <Failure error={action.error} />
      <button type="button" class="button" onClick={props.onChange}>
        Change<span class="unseen"> {name}</span>
      </button>
      <button type="button" class="button" onClick={props.onRoll}>
        Roll<span class="unseen"> the secret of {name}</span>
      </button>
      <ActionButton
        action={action}
        act={() => call("PATCH", path, { body: { enabled: isDisabled } })}
      >
        {isDisabled ? "Enable" : "Disable"}
        <span class="unseen"> {name}</span>
      </ActionButton>
      <Confirm label="Delete" of={name} title={`Delete ${name}?`} act={() => call("DELETE", path)}>
        What waits for it is not sent, and its deliveries are forgotten.
      </Confirm>
    </span>
  );
}
