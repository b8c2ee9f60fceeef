/** One customer at Stripe: who it is, and how its events are reported. */
import {
  type ApiVersion,
  apiVersions,
  eventBody,
  type JsonObject,
  stripeEvent,
} from "../payloads/stripe.js";
import { customerObject } from "../payloads/stripe-money.js";
import { type Currency, markets } from "./catalogue.js";
import type { Chance } from "./chance.js";
import type { Journal } from "./journal.js";
import { personOf } from "./person.js";

const oldLayoutPercent = 25;

export class Customer {
  readonly id: string;
  readonly country: string;
  readonly currency: Currency;
  readonly version: ApiVersion;
  #ids = 0;

  /** @param tag unique in the workspace: every id of this customer is made from it */
  constructor(
    readonly tag: string,
    readonly journal: Journal,
    readonly chance: Chance,
  ) {
    const { country, currency } = chance.weighted(markets);
    this.id = `cus_${tag}`;
    this.country = country;
    this.currency = currency;
    this.version = apiVersions[chance.happens(oldLayoutPercent) ? 0 : 1];
  }

  /** Who it is; the first thing that Stripe reports of a customer. */
  introduce(at: number): void {
    const { id, country } = this;
    this.report("customer.created", at, customerObject({ id, country, ...personOf(this.tag) }));
  }

  /** `ch_<tag>_0003`: the same at every run, and no other customer's. */
  newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.tag}_${String(this.#ids).padStart(4, "0")}`;
  }

  report(type: string, at: number, object: JsonObject, previous?: JsonObject): void {
    const { version } = this;
    const input = { id: this.newId("evt"), type, at, object, version };
    const event = stripeEvent(previous === undefined ? input : { ...input, previous });
    this.journal.report({ at, provider: "stripe", body: eventBody(event) });
  }
}
