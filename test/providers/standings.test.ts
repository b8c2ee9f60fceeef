/** What each provider says of the payments of a subscription, from its own examples. */
import { expect } from "chai";
import { parseBody } from "../../schemas/parse.js";
import type { Known, ProviderToken } from "../../providers/provider.js";
import { bodiesOf } from "../harness/decoded.js";
import { cases, fixtureOf, providers } from "../harness/provider-cases.js";
import { cell, rowsOf } from "../model/tables/table.js";

/** As JSON or a form; what JSON knows is sent so; `-` as its value: the field is left out. */
function withField(text: string, path: string, value: string): string {
  if (!text.startsWith("{")) {
    const fields = new URLSearchParams(text);
    fields.set(path, value);
    if (value === "-") fields.delete(path);
    return fields.toString();
  }
  const body = JSON.parse(text);
  const names = path.split(".");
  const last = names.pop() ?? "";
  const inner = names.reduce((object, name) => (object[name] ??= {}), body);
  if (value === "-") delete inner[last];
  else inner[last] = /^(\d+|true|null|\{\})$/.test(value) ? JSON.parse(value) : value;
  return JSON.stringify(body);
}

/** Google says of a purchase by its API what others say in the event. */
function answersWith(known: Known, path: string, value: string): Known {
  const answers = [...known.answers].map(([question, answer]) => {
    const isPurchase = question.includes("subscriptionsv2");
    const changed = isPurchase ? withField(JSON.stringify(answer), path, value) : null;
    return [question, changed === null ? answer : JSON.parse(changed)] as const;
  });
  return { ...known, answers: new Map(answers) };
}

const received = Date.UTC(2026, 10, 20);

/** `failing`, or `ended_unpaid`; `paid before`: with when the period began that was paid last. */
function saidBy(token: ProviderToken, name: string, path: string, value: string): string {
  const provider = providers.get(token);
  if (provider === undefined) throw new Error(`no provider ${token}`);
  const fixture = fixtureOf(token, name);
  const isAnswer = path.startsWith("answer.");
  const text = fixture.body.toString();
  const isChanged = path !== "" && !isAnswer;
  const bytes = Buffer.from(isChanged ? withField(text, path, value) : text);
  // As the provider sends it: the App Store signs each part of it.
  const { current, signers } = cases[token] ?? {};
  const signer = signers?.[0] ?? provider.credentials.parse(current);
  const parsed = parseBody(provider, provider.sign(bytes, signer, received).body);
  if (!parsed.ok) throw new Error(parsed.message);
  const known = isAnswer ? answersWith(fixture.known, path.slice(7), value) : fixture.known;
  const at = { receivedAt: received, firstReceivedAt: received };
  return bodiesOf(provider.decode(parsed.value, { ...known, ...at }))
    .flatMap((body) => {
      if (!("Standing" in body)) return [];
      const { standing, at: said, paid_from: from } = body.Standing;
      return from < said ? `${standing}, paid before` : standing;
    })
    .join("; ");
}

interface Told {
  /** What names of examples, and paths of fields, begin with. */
  readonly example?: string;
  readonly field: string;
  /** `answer`: the API says it. */
  readonly table: string;
}

const told: Partial<Record<ProviderToken, Told>> = {
  stripe: {
    example: "customer.subscription.",
    field: "data.object.",
    table: `
      example              | with                                               | says
      updated.past-due.new | -                                                  | failing
      updated.past-due.new | status=unpaid                                      | unpaid
      updated.past-due.new | status=active                                      | -
      updated.past-due.new | status=incomplete                                  | -
      updated.past-due.new | pause_collection={}                                | -
      deleted.new          | -                                                  | -
      deleted.new          | cancellation_details.reason=payment_failed         | ended_unpaid
      deleted.new          | cancellation_details.reason=cancellation_requested | ended_otherwise
      deleted.new          | cancellation_details.reason=payment_disputed       | ended_otherwise`,
  },
  paddle: {
    field: "data.",
    table: `
      example               | with          | says
      subscription.past_due | -             | failing
      subscription.past_due | status=paused | -
      subscription.canceled | -             | -`,
  },
  lemonsqueezy: {
    field: "data.attributes.",
    table: `
      example                       | with     | says
      subscription_updated.past-due | -        | failing
      subscription_updated.past-due | pause={} | -
      subscription_updated.unpaid   | -        | unpaid
      subscription_expired          | -        | -`,
  },
  polar: {
    example: "subscription.",
    field: "data.",
    table: `
      example         | with                                       | says
      past_due        | -                                          | failing
      past_due        | past_due_at=-                              | failing
      past_due        | status=active                              | -
      past_due        | status=incomplete                          | -
      updated.unpaid  | -                                          | unpaid
      canceled        | -                                          | -
      revoked         | past_due_at=2026-04-10T09:30:12Z           | ended_unpaid
      revoked         | -                                          | ended_otherwise
      revoked         | past_due_at=-                              | -
      revoked         | status=incomplete_expired                  | -
      revoked.failing | cancel_at_period_end=true                  | ended_otherwise
      revoked.failing | customer_cancellation_reason=too_expensive | ended_otherwise`,
  },
  chargebee: {
    field: "content.",
    table: `
      example                     | with                                           | says
      payment_failed              | -                                              | failing
      payment_failed              | invoice.dunning_status=exhausted               | unpaid
      payment_failed              | subscription.status=cancelled                  | -
      payment_failed              | subscription=-                                 | -
      payment_succeeded.recovered | -                                              | -
      subscription_renewed.due    | -                                              | failing
      subscription_renewed.due    | subscription.due_since=1775813412              | -
      subscription_renewed.due    | subscription.due_invoices_count=0              | -
      subscription_renewed.due    | subscription.status=paused                     | -
      subscription_cancelled      | -                                              | ended_otherwise
      subscription_cancelled      | subscription.cancel_reason=no_card             | ended_unpaid
      subscription_cancelled      | subscription.cancel_reason=fraud_review_failed | ended_otherwise
      subscription_cancelled      | subscription.cancel_reason_code=Not Paid       | ended_unpaid
      subscription_cancelled      | subscription.cancel_reason_code=Too expensive  | ended_otherwise
      subscription_deleted        | -                                              | -`,
  },
  apple: {
    field: "",
    table: `
      example                        | with      | says
      DID_FAIL_TO_RENEW              | -         | failing, paid before
      DID_FAIL_TO_RENEW.GRACE_PERIOD | -         | failing, paid before
      GRACE_PERIOD_EXPIRED           | -         | failing, paid before
      DID_RENEW.BILLING_RECOVERY     | -         | -
      EXPIRED.BILLING_RETRY          | -         | ended_unpaid, paid before
      EXPIRED.VOLUNTARY              | -         | ended_otherwise, paid before
      EXPIRED.VOLUNTARY              | subtype=- | -`,
  },
  google: {
    example: "subscription.",
    field: "answer.canceledStateContext.",
    table: `
      example               | with                           | says
      in_grace_period       | -                              | failing, paid before
      on_hold               | -                              | failing, paid before
      recovered.after-pause | -                              | -
      expired               | -                              | ended_otherwise
      expired               | userInitiatedCancellation=-    | -
      expired               | systemInitiatedCancellation={} | ended_unpaid
      expired.replaced      | -                              | -`,
  },
  revenuecat: {
    field: "event.",
    table: `
      example       | with                                  | says
      billing_issue | -                                     | failing, paid before
      billing_issue | purchased_at_ms=-                     | failing
      expiration    | -                                     | ended_otherwise
      expiration    | expiration_reason=BILLING_ERROR       | ended_unpaid
      expiration    | expiration_reason=UNKNOWN             | -
      expiration    | expiration_reason=SUBSCRIPTION_PAUSED | -`,
  },
  gumroad: {
    field: "",
    table: `
      example            | with                        | says
      subscription_ended | -                           | ended_otherwise
      subscription_ended | ended_reason=failed_payment | ended_unpaid
      subscription_ended | ended_reason=-              | -`,
  },
};

describe("What is said of the payments of a subscription", () => {
  for (const token of providers.keys()) {
    const { example = "", field, table } = told[token] ?? { field: "", table: "" };
    for (const row of rowsOf(table)) {
      const [name, change, says] = ["example", "with", "says"].map((of) => cell(row, of));
      it(`should be read in ${token} ${name} with ${change}: ${says}`, () => {
        const [path = "", value = ""] = change === "-" ? [] : (change ?? "").split("=");
        const said = saidBy(token, `${example}${name}`, path && `${field}${path}`, value);
        expect(said || "-").to.equal(says);
      });
    }
  }
});
