/** One integration: its URL, whether events arrive, its credentials, its history. */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../../api/client.js";
import type { CreatedIntegration, One } from "../../../api/manage-answers.js";
import { reloadAnswers } from "../../../api/use-answer.js";
import { moment } from "../../../format/dates.js";
import { words } from "../../../format/names.js";
import { count } from "../../../format/numbers.js";
import { ActionForm } from "../../../parts/action-form.js";
import { Confirm } from "../../../parts/confirm.js";
import { Copy } from "../../../parts/copy.js";
import { Dialog } from "../../../parts/dialog.js";
import { Fact } from "../../../parts/fact.js";
import { useAction } from "../../../parts/use-action.js";
import { useView } from "../../../state/view.js";
import { useMayManage } from "../manage.js";
import { reasonWords } from "../reject-reasons.js";
import { When } from "../../../parts/when.js";
import { Backfill } from "./backfill.js";
import { Coverage } from "./coverage.js";
import { CredentialFields, credentialsOf } from "./credentials.js";
import { EventsToChoose, type OfIntegration } from "./of-integration.js";
import { Health, refusalWords } from "./health.js";
import { MissingEvents, NeededEvents } from "./needed-events.js";
import { Reconciliation } from "./reconciliation.js";
import { Reports } from "./reports.js";
import { madeFor, showOnce } from "./shown-once.js";
import { Unfinished } from "./unfinished.js";

/** While the first event is waited for. */
const pollMs = 2_000;

export function Integration(props: OfIntegration) {
  const { integration, provider } = props;
  const view = useView();
  const isManager = useMayManage();
  const { state } = integration.health;
  const isAwaited = state === "waiting" || state === "refused";
  useEffect(() => {
    if (!isAwaited) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reloadAnswers();
    }, pollMs);
    return () => clearInterval(timer);
  }, [isAwaited]);
  const made = madeFor(integration.id);
  const hasHistory = provider.history || provider.history_export !== null;
  return (
    <div class="wizard">
      <p>
        <a href={view.to("/settings/integrations")}>All integrations</a>
      </p>
      <h2 class="step-title">
        {integration.name ?? provider.name}
        <span class="soft"> {integration.environment}</span>
      </h2>
      {made.length === 0 ? null : (
        <div class="notice" role="status">
          <p>
            <strong>Copy this now. It is not shown again.</strong>
          </p>
          {made.map(([name, value]) => (
            <p key={name}>
              {words(name)}
              <br />
              <Copy text={value} name={words(name)} />
            </p>
          ))}
        </div>
      )}
      <section class={`arrival ${state}`} aria-live="polite">
        <Arrival {...props} />
      </section>
      {isManager && state === "unfinished" ? <Unfinished {...props} /> : null}
      {isManager && state !== "unfinished" ? (
        <section>
          <h3>Webhook URL</h3>
          <Copy text={integration.webhook_url} name="webhook URL" />
          <p class="soft small">
            Enter it at {provider.name}. <a href={provider.docs_path}>Step by step</a>
          </p>
          <EventsToChoose provider={provider} />
        </section>
      ) : null}
      <Facts {...props} />
      {state === "unfinished" ? null : (
        <>
          <NeededEvents of={integration} />
          {hasHistory ? <Backfill path={props.path} provider={provider} /> : null}
          <Coverage path={props.path} hasHistory={hasHistory} />
          {provider.not_reconciled === null ? (
            <Reconciliation {...props} />
          ) : (
            <p class="soft">{provider.not_reconciled}</p>
          )}
          {provider.reports === null ? null : <Reports {...props} />}
          {provider.lists_payouts ? (
            <section>
              <h3>Payouts to the bank</h3>
              <p>
                <a href={view.to(`/settings/integrations/${integration.id}/payouts`)}>
                  See what each payout is made of
                </a>
              </p>
            </section>
          ) : null}
        </>
      )}
      {isManager ? <Changes {...props} /> : null}
    </div>
  );
}

function Arrival({ integration, provider }: OfIntegration) {
  const view = useView();
  const isManager = useMayManage();
  const { health } = integration;
  const inEnvironment = { environment: integration.environment === "Test" ? "test" : null };
  return (
    <>
      <p class="arrival-state">
        <Health of={integration} />
      </p>
      {health.state === "waiting" ? (
        <p class="soft">
          {isManager
            ? `Enter the URL below at ${provider.name} and send a test event there.`
            : `An administrator enters its webhook URL at ${provider.name}.`}{" "}
          This page changes by itself.
        </p>
      ) : null}
      {health.state === "receiving" ? (
        <p>
          <a href={view.to("/live", inEnvironment)}>Watch transactions as they arrive</a> or{" "}
          <a href={view.to("/overview", inEnvironment)}>open the overview</a>.
        </p>
      ) : null}
      {health.last_refused_reason !== null && health.state === "refused" ? (
        <p>{refusalWords(health.last_refused_reason, provider.provider)}</p>
      ) : null}
      <MissingEvents integration={integration} provider={provider} />
      {health.state === "quiet" ? (
        <p class="soft">Check at {provider.name} whether the endpoint is still enabled.</p>
      ) : null}
    </>
  );
}

function Facts({ integration }: OfIntegration) {
  const view = useView();
  const { health } = integration;
  return (
    <section>
      <h3>Deliveries</h3>
      <dl class="facts">
        <Fact name="Taken">{count(health.deliveries)}</Fact>
        <Fact name="Last">
          <When at={health.last_delivery_at} />
        </Fact>
        <Fact name="Refused">
          {count(health.refused)}
          {health.last_refused_at === null ? null : (
            <>
              , last <When at={health.last_refused_at} />
            </>
          )}
        </Fact>
        <Fact name="Open rejects">
          {health.open_rejects === 0 ? (
            "None"
          ) : (
            <>
              <a href={view.to("/settings/rejects")}>{count(health.open_rejects)}</a>, last{" "}
              <When at={health.last_reject_at} />:{" "}
              {reasonWords(health.last_reject_reason ?? "").title}
            </>
          )}
        </Fact>
        <Fact name="Connected">
          <When at={integration.created_at} />
        </Fact>
        {integration.old_credentials_valid_until === null ? null : (
          <Fact name="Old credentials">
            also valid until {moment(integration.old_credentials_valid_until)}
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Changes({ integration, provider, path }: OfIntegration) {
  const view = useView();
  const { route } = useLocation();
  const [isRotating, setRotating] = useState(false);
  const name = integration.name ?? provider.name;
  return (
    <section>
      <h3>Changes</h3>
      <p class="row-form">
        {integration.health.state === "unfinished" ? null : (
          <button type="button" class="button" onClick={() => setRotating(true)}>
            Rotate credentials
          </button>
        )}
        <Confirm
          label="Delete"
          of={name}
          title={`Delete ${name}?`}
          act={async () => {
            await call("DELETE", path);
            route(view.to("/settings/integrations"), true);
          }}
        >
          Its URL answers 404 from now on, and {provider.name} will report failed deliveries. What
          was booked stays.
        </Confirm>
      </p>
      {isRotating ? (
        <Rotate {...{ integration, provider, path }} onClose={() => setRotating(false)} />
      ) : null}
    </section>
  );
}

function Rotate(props: OfIntegration & { readonly onClose: () => void }) {
  const { integration, provider, path, onClose } = props;
  const action = useAction();
  const rotate = async (form: HTMLFormElement): Promise<void> => {
    const credentials = credentialsOf(form, provider.credentials);
    const { data } = await call<One<CreatedIntegration>>("PATCH", path, {
      body: {
        // None at all would make new secrets.
        ...(Object.keys(credentials).length === 0 ? {} : { credentials }),
        expire_old: new FormData(form).has("expire"),
      },
    });
    showOnce(data);
    onClose();
  };
  return (
    <Dialog title={`New credentials of ${provider.name}`} onClose={onClose}>
      <ActionForm action={action} submit="Rotate" class="stack" send={(form) => rotate(form)}>
        <p class="soft">
          What is left empty stays as it is. Old credentials stay valid for 24 hours.
        </p>
        <CredentialFields
          fields={provider.credentials}
          set={integration.credentials_set}
          wrong={action.error?.param ?? null}
        />
        <label class="check">
          <input type="checkbox" name="expire" /> End the old ones at once
        </label>
      </ActionForm>
    </Dialog>
  );
}
