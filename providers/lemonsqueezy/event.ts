/** The envelope around every Lemon Squeezy object, and how an object's reader is made. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { anyCaseCurrency, anyObject, compiled, isoTime, minorUnits, readOnce } from "../fields.js";
import { readerOf, rejected, type Unreported } from "../outcomes.js";
import type { DecodedFact, Heading, Known } from "../provider.js";
import { hash } from "node:crypto";

/** The outermost shape of every event; what is inside is JSON:API. */
export const envelopeShape = readOnce(
  z.object({
    meta: z.object({
      event_name: z.string().min(1),
      test_mode: z.boolean().optional().catch(undefined),
    }),
    data: z.object({
      type: z.string().min(1),
      id: z.string().min(1),
      attributes: anyObject,
    }),
  }),
);

export interface LemonEvent {
  readonly name: string;
  /** Of the object; each type has ids of its own. */
  readonly id: string;
  readonly attributes: unknown;
  readonly known: Known;
}

type Reported = readonly DecodedFact[] | Unreported;
export type Reader = (event: LemonEvent) => Reported;

export const reader = readerOf<LemonEvent, readonly DecodedFact[]>(({ attributes }) => attributes);

/** Needed, but not in the event: Lemon Squeezy's API has it (`definitions.md`, Providers). */
export function unavailable(what: string): Unreported {
  return rejected("enrichment_unavailable", `Lemon Squeezy must be asked: ${what}`);
}

/** @param at when Lemon Squeezy said so, ms since 1970 */
export function factsAt(at: number, bodies: readonly FactBody[]): DecodedFact[] {
  return bodies.map((body) => ({ happenedAt: at, body }));
}

/** Fields as Lemon Squeezy writes them, turned into ours. */
export const field = {
  /** An integer, but a string where it is the object's own. */
  id: z.union([z.int(), z.string().min(1).max(255)]).transform(String),
  /** ISO 8601 with six decimals → ms since 1970 */
  time: isoTime,
  /** Minor units of the object's currency. */
  amount: minorUnits,
  currency: anyCaseCurrency,
};

/** What the endpoint reads of an event before it is sealed: above all, which event it is. */
export function heading(body: unknown): Heading | null {
  const parsed = envelopeShape.safeParse(body);
  if (!parsed.success) return null;
  const { meta, data } = parsed.data;
  const attributes = attributesShape.parse(data.attributes);
  const { customer_id: customer, test_mode: testMode } = attributes;
  return {
    // Events have no ids: the same state reported again under the same name is a redelivery.
    // Times have seconds, in which a subscription may change twice.
    nativeId: [
      meta.event_name,
      data.type,
      data.id,
      reportedAt(attributes),
      digestOf(data.attributes),
    ].join(":"),
    nativeType: meta.event_name,
    sandbox: meta.test_mode ?? testMode ?? null,
    accountHint: customer === undefined ? data.id : String(customer),
  };
}

/** Another quantity changes the item of a subscription, and need not change the subscription. */
function reportedAt({ updated_at: own = "", first_subscription_item: item }: Attributes): string {
  const ofItem = item?.updated_at;
  return ofItem !== undefined && Date.parse(ofItem) > Date.parse(own) ? ofItem : own;
}

/** Links are signed anew whenever they are written, and end at another time. */
function digestOf({ urls: _links, ...lasting }: Readonly<Record<string, unknown>>): string {
  return hash("sha256", JSON.stringify(lasting)).slice(0, 32);
}

const time = z.string().max(40).optional().catch(undefined);
/** Takes any object. */
const attributesShape = compiled(
  z.object({
    // Objects that report neither money nor MRR need not have one.
    updated_at: time,
    first_subscription_item: z.object({ updated_at: time }).optional().catch(undefined),
    customer_id: z.union([z.int(), z.string()]).optional().catch(undefined),
    test_mode: z.boolean().optional().catch(undefined),
  }),
);
type Attributes = z.output<typeof attributesShape>;
