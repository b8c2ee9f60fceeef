/** What the endpoint reads of an event before it is sealed: above all, which event it is. */
import { hash } from "node:crypto";
import { z } from "zod";
import { compiled } from "../compiled.js";
import type { Heading } from "../provider.js";
import { envelopeShape } from "./event.js";

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
