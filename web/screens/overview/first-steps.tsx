/** In place of figures while there are none: what to do first. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.js";
import type { CreatedKey, ListedIntegration, One } from "../../api/manage-answers.js";
import type { IngestAnswer } from "../../../schemas/http/ingest.js";
import { providerName } from "../../format/names.js";
import { money } from "../../format/numbers.js";
import { ActionButton } from "../../parts/action-form.js";
import { OpenDemo } from "../../parts/open-demo.js";
import { Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { useView } from "../../state/view.js";
import { useList, useManagePath, useMayManage } from "../settings/manage.js";

export default function FirstSteps({ currency }: { readonly currency: string }) {
  const view = useView();
  const isManager = useMayManage();
  const place = view.environment === "test" ? "the Test environment" : "this workspace";
  return (
    <section class="first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">No events in {place} yet</h2>
      <ul>
        {isManager ? (
          <>
            <ConnectStep />
            <TestStep currency={currency} />
          </>
        ) : (
          <Step title="Connect a provider">
            <p>Ask an administrator of this workspace to connect one.</p>
          </Step>
        )}
        <Step title="Open the demo">
          <p>
            Two years of an invented business, in a folder of its own, so that nothing of it stays
            among your events.
          </p>
          <OpenDemo />
        </Step>
      </ul>
    </section>
  );
}

function Step(props: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <li>
      <h3>{props.title}</h3>
      {props.children}
    </li>
  );
}

function ConnectStep() {
  const view = useView();
  const { rows } = useList<ListedIntegration>(`${useManagePath()}/integrations`);
  const waiting = rows.find(({ health }) => health.last_delivery_at === null);
  if (waiting !== undefined) {
    const name = waiting.name ?? providerName(waiting.provider);
    const isUnfinished = waiting.health.state === "unfinished";
    return (
      <Step title={isUnfinished ? "Finish connecting" : "Wait for the first event"}>
        <p>
          {isUnfinished
            ? `The secret of ${name} is not entered yet.`
            : `${name} is connected and has sent nothing yet.`}
        </p>
        <p>
          <a class="button primary" href={view.to(`/settings/integrations/${waiting.id}`)}>
            {isUnfinished ? "Finish connecting" : "Check the connection"}
          </a>
        </p>
      </Step>
    );
  }
  return (
    <Step title="Connect a provider">
      <p>Stripe, Paddle, the app stores and others. Figures follow seconds after each event.</p>
      <p>
        <a class="button primary" href={view.to("/settings/integrations/new")}>
          Connect a provider
        </a>
      </p>
    </Step>
  );
}

function TestStep({ currency }: { readonly currency: string }) {
  const view = useView();
  const path = useManagePath();
  const action = useAction();
  const [booked, setBooked] = useState<IngestAnswer["normalized"] | null>(null);
  const send = async (): Promise<void> => {
    setBooked(await sendTestEvent(path, currency));
  };
  return (
    <Step title="Send a test event">
      <p>
        A subscription at {money(testAmount, testCurrency(currency))} a month, sent as your own
        systems would send it. It lands in Test, beside your real figures.
      </p>
      <Failure error={action.error} />
      {booked === null ? (
        <p>
          <ActionButton action={action} act={send}>
            Send a test event
          </ActionButton>
        </p>
      ) : (
        <p role="status">
          Taken, as {money(booked.amount_base, booked.base_currency)}.{" "}
          <a href={view.to("/overview", { environment: "test" })}>See it in Test</a>
        </p>
      )}
    </Step>
  );
}

const testAmount = 29;
const keyLastsMs = 10 * 60_000;

/** Another than the workspace's, so that the conversion can be seen. */
function testCurrency(currency: string): string {
  return currency === "EUR" ? "USD" : "EUR";
}

/** With a key that is revoked at once: sending needs one, and no member should have to keep it. */
async function sendTestEvent(path: string, currency: string): Promise<IngestAnswer["normalized"]> {
  const { data: key } = await call<One<CreatedKey>>("POST", `${path}/keys`, {
    body: {
      environment: "Test",
      scope: "Full Ingress",
      name: "Test event of the dashboard",
      expires_at: new Date(Date.now() + keyLastsMs).toISOString(),
    },
  });
  try {
    const { normalized } = await call<IngestAnswer>("POST", "/v1/events/ingest", {
      key: key.key,
      // The same ids each time: sent twice it counts once.
      body: {
        provider: "custom",
        event_type: "subscription.new",
        event_id: "test-event",
        subscription_id: "test-subscription",
        customer_id: "test-customer",
        product_id: "test-plan",
        product_name: "Test plan",
        amount: testAmount,
        currency: testCurrency(currency),
      },
    });
    return normalized;
  } finally {
    await call("DELETE", `${path}/keys/${key.id}`);
  }
}
