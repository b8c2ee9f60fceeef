/** What the adapters read, in the model's words: what both read can then be compared. */
import { parseBody } from "../../../schemas/parse.js";
import type { DecodedFact, KeptObject, Known, Provider } from "../../../providers/provider.js";
import type { FactBody, Line } from "../../../schemas/records/records.js";
import type { BareFact, Fact, ModelEvent } from "../facts.js";
import { fraction } from "../fraction.js";
import { must } from "../readers/json.js";
import { deliveryOf } from "../stories/webhooks.js";

/** What an adapter reads in one event. */
export interface DecodedEvent {
  readonly event: ModelEvent;
  readonly facts: readonly DecodedFact[];
}

/**
 * One event after the other, as the processors do it: what one reports an object is kept for the
 * next. Without those of another environment.
 * @throws when an event is rejected: stories report nothing that cannot be understood
 */
export function decodedBy(provider: Provider, events: readonly ModelEvent[]): DecodedEvent[] {
  const kept = new KeptInMemory();
  return events.flatMap((event): DecodedEvent[] => {
    const { source, body: sent, receivedAt } = event;
    if (source === "record") throw new Error("a record has no adapter");
    const parsed = parseBody(provider, deliveryOf(source, sent).body);
    if (!parsed.ok) throw new Error(parsed.message);
    const body = parsed.value;
    kept.keep(provider.keeps?.(body) ?? []);
    const known: Known = {
      kept: kept.recall(provider.needs?.(body) ?? []),
      answers: new Map(),
      receivedAt,
      firstReceivedAt: receivedAt,
    };
    kept.keep(provider.keepsAnswered?.(body, known) ?? []);
    const decoded = provider.decode(body, known);
    if (decoded.outcome === "rejected") throw new Error(`${decoded.reason}: ${decoded.detail}`);
    if (decoded.outcome === "ignored") return [];
    const isTest = decoded.sandbox ?? must(provider.heading(body), "a heading").sandbox;
    return isTest === true ? [] : [{ event, facts: decoded.facts }];
  });
}

/** Without standings, of which the model knows nothing: they must not move anything. */
export function inWordsOfModel(decoded: readonly DecodedEvent[]): Fact[] {
  return decoded.flatMap(({ event, facts }) => {
    const reported = { eventId: event.id, provider: event.source };
    const moving = facts.filter(({ body }) => !("Standing" in body));
    return moving.map((fact): Fact => ({
      ...bareFact(fact),
      ...reported,
      reportedAt: fact.happenedAt,
    }));
  });
}

/** `providers/api/stored-objects.ts` without a database. */
class KeptInMemory {
  readonly #objects = new Map<string, KeptObject>();

  keep(reported: readonly KeptObject[]): void {
    for (const one of reported) {
      const before = this.#objects.get(one.id);
      if (before === undefined || (!one.merges && before.reportedAt < one.reportedAt)) {
        this.#objects.set(one.id, one);
      } else if (one.merges) {
        const object = Object.assign({}, one.object, before.object);
        this.#objects.set(one.id, { ...before, object });
      }
    }
  }

  recall(ids: readonly string[]): ReadonlyMap<string, unknown> {
    const found = ids.flatMap((id) => this.#objects.get(id) ?? []);
    return new Map(found.map(({ id, object }) => [id, object]));
  }
}

function bareFact({ body }: DecodedFact): BareFact {
  if ("Payment" in body) {
    return { kind: "sale", ...body.Payment, lines: body.Payment.lines.map(lineOf) };
  }
  if ("Purchase" in body) {
    return { kind: "purchase", ...body.Purchase, lines: body.Purchase.lines.map(lineOf) };
  }
  if ("Link" in body) return { kind: "link", ...body.Link, asOf: body.Link.as_of };
  if ("Refund" in body) {
    const { failed_at: failedAt, lines, ...reported } = body.Refund;
    const [line] = lines;
    const from = { sku: line?.external_id || null, line: line?.item };
    return { kind: "refund", ...reported, failedAt, ...from };
  }
  if ("RefundTotal" in body) return { kind: "refund_total", ...body.RefundTotal };
  if ("Dispute" in body) return disputeOf(body.Dispute);
  if ("Subscription" in body) return changeOf(body.Subscription);
  if ("Customer" in body) return { kind: "customer", ...body.Customer };
  if ("Sku" in body) return { kind: "naming", sku: body.Sku.external_id, name: body.Sku.name };
  throw new Error("only records leave subscriptions without a name");
}

type Body<Name extends string> = Extract<FactBody, Readonly<Record<Name, unknown>>>[Name];

const certainties = { money: 2, notice: 1, outcome: 0 } as const;

function disputeOf(reported: Body<"Dispute">): BareFact {
  const { withdrawn_at: withdrawnAt, returned_at: returnedAt, lines = [], ...rest } = reported;
  return {
    kind: "dispute",
    ...rest,
    withdrawnAt,
    returnedAt,
    certainty: certainties[rest.reported_by],
    returned: rest.returned_amount,
    line: lines[0]?.item,
  };
}

function changeOf(reported: Body<"Subscription">): BareFact {
  const { subscription, account, phase, currency, country } = reported;
  const steps = reported.steps.map(({ at, items }) => ({
    at,
    items: items.map((item) => ({
      item: item.item,
      sku: item.external_id,
      monthly: fraction(item.monthly_numerator, item.monthly_denominator),
    })),
  }));
  return { kind: "change", subscription, account, phase, currency, country, steps };
}

function lineOf({ external_id: sku, weight, item: id }: Line) {
  return { sku, weight, id };
}
