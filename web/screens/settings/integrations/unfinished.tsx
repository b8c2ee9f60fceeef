/** The second half of connecting: the URL is known, the provider's secret is not. */
import { call } from "../../../api/client.js";
import { ActionForm } from "../../../parts/action-form.js";
import { Copy } from "../../../parts/copy.js";
import { fieldOf } from "../../../parts/field.js";
import { useAction } from "../../../parts/use-action.js";
import { CredentialFields, credentialsOf } from "./credentials.js";
import { EventsToChoose, type OfIntegration } from "./of-integration.js";

export function Unfinished(props: OfIntegration) {
  const { integration, provider } = props;
  return (
    <>
      {provider.makes_endpoint ? <ByApiKey {...props} /> : null}
      <section>
        <h3>{provider.makes_endpoint ? "Or by hand" : "Two steps"}</h3>
        <ol class="steps">
          <li>
            <p>
              Add a webhook endpoint at {provider.name} with this URL.{" "}
              <a href={provider.docs_path}>Step by step</a>
            </p>
            <Copy text={integration.webhook_url} name="webhook URL" />
            {isLocal(integration.webhook_url) ? (
              <p class="small loss">
                {provider.name} cannot reach this address: set <code>PUBLIC_URL</code> to one that
                it can.
              </p>
            ) : null}
            <EventsToChoose provider={provider} />
          </li>
          <li>
            <p>Enter here what {provider.name} shows for it. Until then its calls are refused.</p>
            <Secret {...props} />
          </li>
        </ol>
      </section>
    </>
  );
}

function isLocal(url: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(new URL(url).host);
}

function ByApiKey({ integration, provider, path }: OfIntegration) {
  const action = useAction();
  const mode = integration.environment === "Test" ? "test-mode" : "live-mode";
  return (
    <section>
      <h3>With an API key</h3>
      <p class="soft">
        The easiest way: the endpoint is made at {provider.name} with the right events, and its
        secret is kept. It takes a {mode} key that may write webhook endpoints. The key is kept,
        too, to read history and to complete events.{" "}
        <a href={provider.docs_path}>Where to find it</a>
      </p>
      <ActionForm
        action={action}
        submit="Make the endpoint"
        class="stack"
        send={(form) =>
          call("POST", `${path}/endpoint`, { body: { api_key: fieldOf(form, "endpoint-key") } })
        }
      >
        <div class="field">
          <label for="endpoint-key">API key</label>
          <input
            type="text"
            id="endpoint-key"
            name="endpoint-key"
            required
            spellcheck={false}
            autocomplete="off"
          />
        </div>
      </ActionForm>
    </section>
  );
}

function Secret({ provider, path }: OfIntegration) {
  const action = useAction();
  const { credentials } = provider;
  return (
    <ActionForm
      action={action}
      submit="Connect"
      class="stack"
      send={(form) =>
        call("PATCH", path, { body: { credentials: credentialsOf(form, credentials) } })
      }
    >
      <CredentialFields fields={credentials} wrong={action.error?.param ?? null} />
    </ActionForm>
  );
}
