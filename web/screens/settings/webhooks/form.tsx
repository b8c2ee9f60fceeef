/** An endpoint as it is made or changed. */
import type { WebhookEndpointView } from "../../../../schemas/http/outbound/webhooks.js";
import { call } from "../../../api/client.js";
import type { One } from "../../../api/manage-answers.js";
import { ActionForm } from "../../../parts/action-form.js";
import { Dialog } from "../../../parts/dialog.js";
import { fieldOf } from "../../../parts/field.js";
import { SegmentField } from "../../../parts/segments.js";
import { useAction } from "../../../parts/use-action.js";
import { useView } from "../../../state/view.js";

const types = {
  "transaction.recorded": "New transactions",
  "transaction.updated": "Their refunds, disputes and other changes",
  "mrr.movement": "Movements of MRR",
  "reject.opened": "Events that could not be booked",
  "integration.silent": "Integrations that fell silent",
  "reconciliation.differs": "Months that differ from the provider",
  "alert.fired": "Alerts",
  "digest.ready": "Digests",
} as const satisfies Record<WebhookEndpointView["events"][number], string>;

const filters = [
  ["provider", "Providers, as stripe,paddle"],
  ["product", "Ids of products"],
  ["currency", "Currencies, as EUR,USD"],
  ["country", "Countries, as DE or -DE"],
] as const;

/** The secret is shown where it was made. */
export type SavedEndpoint = WebhookEndpointView & { readonly secret?: string };

export function EndpointForm(props: {
  /** Null: a new one. */
  readonly of: WebhookEndpointView | null;
  readonly path: string;
  readonly onDone: (saved: SavedEndpoint) => void;
  readonly onClose: () => void;
}) {
  const { of, path } = props;
  const view = useView();
  const action = useAction();
  const save = async (form: HTMLFormElement): Promise<void> => {
    const name = fieldOf(form, "name");
    const given = [...filters, ["segment"] as const]
      .map(([filter]) => [filter, fieldOf(form, filter)] as const)
      .filter(([, text]) => text !== "");
    const common = {
      url: fieldOf(form, "url"),
      events: new FormData(form).getAll("events"),
      filters: Object.fromEntries(given),
    };
    const environment = fieldOf(form, "environment");
    const { data } =
      of === null
        ? await call<One<SavedEndpoint>>("POST", path, {
            body: { ...common, environment, ...(name === "" ? {} : { name }) },
          })
        : await call<One<SavedEndpoint>>("PATCH", `${path}/${of.id}`, {
            body: { ...common, name: name === "" ? null : name },
          });
    props.onDone(data);
  };
  return (
    <Dialog title={of === null ? "Add an endpoint" : "Change the endpoint"} onClose={props.onClose}>
      <ActionForm
        action={action}
        submit={of === null ? "Add" : "Save"}
        class="stack"
        send={(form) => save(form)}
      >
        <label>
          Address
          <input
            type="url"
            name="url"
            required
            maxLength={2_000}
            placeholder="https://example.com/revenue"
            defaultValue={of?.url}
          />
        </label>
        <label>
          Name
          <input type="text" name="name" maxLength={200} defaultValue={of?.name ?? ""} />
        </label>
        {of === null ? (
          <label>
            Environment
            <select name="environment">
              <option value="Production">Production</option>
              <option value="Test" selected={view.environment === "test"}>
                Test
              </option>
            </select>
          </label>
        ) : null}
        <fieldset class="stack">
          <legend>What is sent</legend>
          {Object.entries(types).map(([type, label]) => (
            <label key={type} class="check">
              <input
                type="checkbox"
                name="events"
                value={type}
                defaultChecked={of?.events.some((one) => one === type) ?? false}
              />{" "}
              {label}
            </label>
          ))}
        </fieldset>
        <details open={Object.keys(of?.filters ?? {}).length > 0}>
          <summary>Only some of it</summary>
          <div class="stack">
            {filters.map(([filter, label]) => (
              <label key={filter}>
                {label}
                <input
                  type="text"
                  name={filter}
                  maxLength={1_000}
                  defaultValue={of?.filters[filter] ?? ""}
                />
              </label>
            ))}
            <SegmentField
              name="segment"
              label="Segment"
              none="None"
              value={of?.filters["segment"] ?? null}
            />
          </div>
        </details>
      </ActionForm>
    </Dialog>
  );
}
