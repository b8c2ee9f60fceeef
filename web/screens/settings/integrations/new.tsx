/** Connect a provider: what to do there, and what to enter here. */
import { useLocation } from "preact-iso";
import { call } from "../../../api/client.js";
import type { CreatedIntegration, One, ProviderView } from "../../../api/manage-answers.js";
import { fieldOf } from "../../../parts/field.js";
import { Failure } from "../../../parts/states.js";
import { useAction } from "../../../parts/use-action.js";
import { useView } from "../../../state/view.js";
import { CredentialFields, credentialsOf } from "./credentials.js";
import { EventsToChoose } from "./events-to-choose.js";
import { showOnce } from "./shown-once.js";

export function NewIntegration(props: { readonly provider: ProviderView; readonly path: string }) {
  const view = useView();
  const { route } = useLocation();
  const action = useAction();
  const { provider, path } = props;
  const connect = async (form: HTMLFormElement): Promise<void> => {
    const name = fieldOf(form, "integration-name");
    const { data } = await call<One<CreatedIntegration>>("POST", path, {
      body: {
        provider: provider.provider,
        environment: fieldOf(form, "environment"),
        credentials: credentialsOf(form, provider.credentials),
        ...(name === "" ? {} : { name }),
      },
    });
    showOnce(data);
    route(view.to(`/settings/integrations/${data.id}`));
  };
  return (
    <div class="wizard">
      <p>
        <a href={view.to("/settings/integrations/new")}>All providers</a>
      </p>
      <h2 class="step-title">Connect {provider.name}</h2>
      <ol class="steps">
        <li>
          <h3>At {provider.name}</h3>
          <p>
            Add a webhook endpoint. Where its URL is asked for before this page has one, enter any,
            such as <code>https://example.com</code>; the next step shows the right one.{" "}
            <a href={provider.docs_path}>Step by step</a>
          </p>
          <EventsToChoose provider={provider} />
        </li>
        <li>
          <h3>Here</h3>
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              const { currentTarget: form } = event;
              action.run(() => connect(form));
            }}
          >
            {action.error === null ? null : <Failure error={action.error} />}
            <CredentialFields fields={provider.credentials} wrong={action.error?.param ?? null} />
            <div class="field">
              <label for="environment">Environment</label>
              <select name="environment" id="environment">
                <option value="Production">Production: real money</option>
                <option value="Test" selected={view.environment === "test"}>
                  Test: the provider's test mode or sandbox
                </option>
              </select>
            </div>
            <div class="field">
              <label for="integration-name">
                Name <span class="soft">(optional)</span>
              </label>
              <input
                type="text"
                id="integration-name"
                name="integration-name"
                maxLength={200}
                placeholder={provider.name}
              />
              <p class="soft small">Helps where you connect several accounts of one provider.</p>
            </div>
            <p>
              <button type="submit" class="button primary" disabled={action.isBusy}>
                Connect
              </button>
            </p>
          </form>
        </li>
        <li>
          <h3>At {provider.name} again</h3>
          <p class="soft">Enter the webhook URL, which is shown once this is saved.</p>
        </li>
      </ol>
    </div>
  );
}
