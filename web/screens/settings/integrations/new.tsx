/** Connect a provider: what to do there, and what to enter here. */
import { useLocation } from "preact-iso";
import { call } from "../../../api/client.js";
import type { CreatedIntegration, One, ProviderView } from "../../../api/manage-answers.js";
import { ActionForm } from "../../../parts/action-form.js";
import { fieldOf } from "../../../parts/field.js";
import { useAction } from "../../../parts/use-action.js";
import { useView } from "../../../state/view.js";
import { CredentialFields, credentialsOf } from "./credentials.js";
import { EventsToChoose } from "./of-integration.js";
import { showOnce } from "./shown-once.js";

export function NewIntegration(props: { readonly provider: ProviderView; readonly path: string }) {
  const view = useView();
  const { route } = useLocation();
  const action = useAction();
  const { provider, path } = props;
  const { credentials } = provider;
  // The provider shows its secret when it knows the URL; one made here needs no second step.
  const isAddressFirst = !credentials.some(({ made }) => made);
  const connect = async (form: HTMLFormElement): Promise<void> => {
    const name = fieldOf(form, "integration-name");
    const { data } = await call<One<CreatedIntegration>>("POST", path, {
      body: {
        provider: provider.provider,
        environment: fieldOf(form, "environment"),
        credentials: isAddressFirst ? null : credentialsOf(form, credentials),
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
      <ActionForm
        action={action}
        submit={isAddressFirst ? "Get the webhook URL" : "Connect"}
        class="stack"
        send={(form) => connect(form)}
      >
        {isAddressFirst ? null : (
          <CredentialFields fields={credentials} wrong={action.error?.param ?? null} />
        )}
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
      </ActionForm>
      <p class="soft">
        {isAddressFirst
          ? `Next, ${provider.name} is given the URL, and its secret is entered here. `
          : `Then enter the webhook URL at ${provider.name}, which is shown next. `}
        <a href={provider.docs_path}>Step by step</a>
      </p>
      {isAddressFirst ? null : <EventsToChoose provider={provider} />}
    </div>
  );
}
