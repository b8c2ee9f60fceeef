/** An event whose provider answered in part at first, and more when it was asked again. */
import { expect } from "chai";
import { type Fact, factRecords, topics } from "../../schemas/records/records.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import { readConfig } from "../../config.js";
import { enrichOptional } from "../../processors/enrich/enrich-optional.js";
import { lemonEvent, orderObject } from "../../ops/payloads/lemonsqueezy.js";
import { openEndpoints } from "../harness/endpoints.js";
import { enrichingOver, incompleteOf } from "../harness/enriching.js";
import { apiKey, openStripeApi, send } from "../apis/stripe-api.js";
import { metaOf } from "../harness/facts.js";

const orderPath = "/v1/order-items";
const item = (product: number, price: number) => ({
  attributes: { product_id: product, price, quantity: 1 },
});

describe("An event enriched again", () => {
  it("should report a fuller answer as another fact, and the same answer as the same", async () => {
    const endpoints = await openEndpoints();
    const { service, workspace } = endpoints;
    // Any server that answers with objects.
    const api = await openStripeApi();
    api.objects.set("/v1/customers/7", { data: { attributes: { country: "DE" } } });
    api.objects.set(orderPath, { data: [item(3, 600), item(4, 400)] });
    let isDead = true;
    api.misbehave = (request, response) => {
      if (!isDead || request.url?.startsWith(orderPath) !== true) return false;
      send(response, 500, {});
      return true;
    };
    const credentials = { signing_secret: "of lemons", api_key: apiKey };
    const { id } = await endpoints.integrate("lemonsqueezy", credentials);
    const facts: Fact[] = [];
    const append = (topic: string, records: readonly { value: Buffer }[]) => {
      if (topic === topics.facts)
        facts.push(...records.map(({ value }) => factRecords.decode(value)));
      return Promise.resolve([]);
    };
    const config = readConfig({ LEMONSQUEEZY_API_URL: api.url });
    const enriching = await enrichingOver(service, {
      // The reject of the part that was not answered is of no interest here.
      clickhouse: { ...service.clickhouse, write: () => Promise.resolve() },
      log: { ...service.log, append },
    });
    const ask = async (receivedAt: number): Promise<Fact[]> => {
      facts.length = 0;
      const record = recordOf(receivedAt, id);
      // Nothing is remembered from the time before.
      await enrichOptional({ ...enriching, apis: openProviderApis(config) }, [record]);
      return facts.filter(({ body }) => "Payment" in body);
    };
    const recordOf = (receivedAt: number, integration: string) => {
      const order = orderObject({
        id: 1,
        customer: 7,
        currency: "EUR",
        total: 1_000n,
        product: 3,
        firstPrice: 600n,
        createdAt: Date.UTC(2026, 2, 10, 9),
      });
      const meta = metaOf({
        event_id: `evt_norm_${workspace}_order`,
        workspace,
        provider: "lemonsqueezy",
        integration,
        native_id: "order_1",
        native_type: "order_created",
        received_at: receivedAt,
        rates_edition: service.rates.edition,
      });
      const body = lemonEvent({ name: "order_created", object: order });
      return incompleteOf(service.vault, meta, body, "enrich");
    };
    const now = Date.now();
    const [partly] = await ask(now - 3_000);
    isDead = false;
    // Replayed because something was not to be had, and once more.
    const [fully] = await ask(now - 2_000);
    const [again] = await ask(now - 1_000);
    expect(productsOf(partly)).to.deep.equal(["3"]);
    expect(productsOf(fully)).to.deep.equal(["3", "4"]);
    expect(fully?.fact_id).not.to.equal(partly?.fact_id);
    expect(again?.fact_id).to.equal(fully?.fact_id);
  });
});

function productsOf(fact: Fact | undefined): string[] {
  if (fact === undefined || !("Payment" in fact.body)) return [];
  return fact.body.Payment.lines.map(({ external_id: sku }) => sku);
}
