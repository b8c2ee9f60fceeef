/**
 * Objects later events only name: a discount reported by its own event completes a subscription.
 */
import { expect } from "chai";
import { type KeptScope, openStoredObjects } from "../../providers/api/stored-objects.js";
import { type Postgres, PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { listRejects } from "../../workspaces/rejects/rejects.js";
import { Releases } from "../../runtime/releases.js";
import { limits } from "../../config.js";
import { recheckRejects } from "../../processors/normalize/normalize.js";
import { keptFor } from "../../processors/enrich/questions.js";
import { conclude, openRaw } from "../../processors/normalize/read-raw.js";
import { startRejectRetries } from "../../processors/rejects/retries.js";
import { decode, keeps, needs } from "../../providers/stripe/decode.js";
import {
  discountObject,
  eventBody,
  type JsonObject,
  stripeEvent,
} from "../../ops/payloads/stripe.js";
import { stripeSubscription, worthIn } from "../harness/decoded.js";
import { stripe, suiteEndpoints, openEndpoints, type Endpoints } from "../harness/endpoints.js";
import { enrichingOver } from "../harness/enriching.js";
import type { MrrAnswer } from "../../api/mrr/schema.js";
import { topics } from "../../schemas/records/records.js";
import { metaOf } from "../harness/facts.js";
import { testLogger } from "../harness/stores.js";
import { until } from "../harness/promises.js";

const createdAt = Date.UTC(2026, 5, 1);
const half: JsonObject = {
  ...discountObject({ id: "di_half", percentOff: 50, duration: "forever", startAt: createdAt }),
  customer: "cus_kept",
};
const coupon: JsonObject = {
  id: "HALF",
  object: "coupon",
  duration: "forever",
  percent_off: 50,
  amount_off: null,
  currency: null,
  name: "Half for friends",
};
const byCouponId: JsonObject = { ...half, source: { type: "coupon", coupon: "HALF" } };

const subscription = stripeEvent({
  id: "evt_kept_sub",
  type: "customer.subscription.created",
  at: createdAt,
  object: stripeSubscription(createdAt, [{ id: "price_kept", product: "prod_kept" }], {
    id: "sub_kept",
    customer: "cus_kept",
    discounts: ["di_half"],
  }),
});
const reported = (id: string, type: string, object: JsonObject): JsonObject =>
  stripeEvent({ id, type, at: createdAt, object });
const discountCreated = reported("evt_kept_di", "customer.discount.created", byCouponId);
const couponCreated = reported("evt_kept_coupon", "coupon.created", coupon);

describe("What Stripe reports once and later only names", () => {
  it("should name the discount a subscription needs", () => {
    expect(needs(subscription)).to.deep.equal(["di_half"]);
    expect(decode(subscription)).to.include({ reason: "enrichment_unavailable" });
  });

  it("should keep nothing of a discount that decoding does not need", () => {
    const [kept] = keeps(reported("evt", "customer.discount.created", half));
    expect(Object.keys(kept?.object ?? {})).to.have.members(["id", "end", "source"]);
    expect(JSON.stringify(keeps(couponCreated))).not.to.include("friends");
  });

  const cases: [string, JsonObject[]][] = [
    ["a discount reported whole", [reported("evt", "customer.discount.created", half)]],
    ["a discount and its coupon, each by its own event", [discountCreated, couponCreated]],
  ];
  for (const [title, events] of cases) {
    it(`should price a subscription by ${title}`, () => {
      const kept = new Map(
        events.flatMap((event) => keeps(event).map(({ id, object }) => [id, object])),
      );
      const decoded = decode(subscription, { kept, answers: new Map() });
      expect(worthIn(decoded)).to.equal("EUR 500");
    });
  }

  it("should keep coupons of connected accounts apart, which may have one id", () => {
    const ofAccount = (event: JsonObject, account: string) => ({ ...event, account });
    const known = (account: string) => {
      const events = [discountCreated, couponCreated].map((event) => ofAccount(event, account));
      const objects = events.flatMap((event) => keeps(event));
      const kept = new Map(objects.map(({ id, object }) => [id, object]));
      return { kept, answers: new Map<string, unknown>() };
    };
    const body = ofAccount(subscription, "acct_1");
    expect(needs(body)).to.deep.equal(["acct_1:di_half"]);
    expect(decode(body, known("acct_1"))).to.include({ outcome: "facts" });
    expect(decode(body, known("acct_2"))).to.include({ reason: "enrichment_unavailable" });
    expect(decode(subscription, known("acct_1"))).to.include({ reason: "enrichment_unavailable" });
  });

  describe("on its way through the service", () => {
    const endpoints = suiteEndpoints();

    it("should list a subscription that waits, and book it when the discount comes", async () => {
      await deliver(subscription);
      await until(async () => (await openRejects()).length === 1);
      expect((await openRejects())[0]).to.include({ reason: "enrichment_unavailable" });
      await deliver(discountCreated);
      await deliver(couponCreated);
      await until(async () => (await mrr()) === 5);
      await until(async () => (await openRejects()).length === 0);
    }).timeout(30_000);

    it("should book it also when the reader of the discount was killed at once", async () => {
      const { service } = endpoints;
      await deliver(another("killed"));
      await until(async () => (await openRejects()).length === 1);
      await keep("killed");
      const releases = new Releases(testLogger);
      startRejectRetries({ ...service, releases });
      await until(async () => (await mrr()) === 10);
      await until(async () => (await openRejects()).length === 0);
      await releases.release();
    }).timeout(30_000);

    it("should book it also when the discount comes before the reject is listed", async () => {
      const { service } = endpoints;
      await deliver(another("between"));
      await until(async () => (await openRejects()).length === 1);
      const open = { workspace: endpoints.workspace, state: "open" } as const;
      const [place] = await listRejects(service.clickhouse, open, null, 1);
      if (place === undefined) throw new Error("the reject is listed, but not there");
      const { partition, offset } = place;
      const [record] = await service.log.read(topics.raw, partition, BigInt(offset), 1);
      if (record === undefined) throw new Error("the raw event is not on the log");
      const news: string[] = [];
      const normalizing = await enrichingOver(service, {
        keptNews: (workspace) => news.push(workspace),
      });
      const opened = await openRaw(normalizing, record);
      if (opened.kind === "rejected") throw new Error(opened.detail);
      // Its integration has no key for the API, so that nothing was answered.
      const outcome = await conclude(normalizing, opened, new Map());
      if (outcome.kind !== "rejected") throw new Error("the event is no reject any more");
      await recheckRejects(normalizing, [outcome]);
      expect(news, "nothing was reported yet").to.eql([]);
      await keep("between");
      await recheckRejects(normalizing, [outcome]);
      expect(news).to.eql([endpoints.workspace]);
    }).timeout(30_000);

    it("should let others have their turn while one workspace gets a lot of news", async () => {
      const { clickhouse } = endpoints.service;
      const releases = new Releases(testLogger);
      let lists = 0;
      let listsBeforeOthers: number | null = null;
      const rows = async (sql: string, params: { readonly reason?: string } = {}) => {
        if (sql.includes("state = 'replayed'")) listsBeforeOthers ??= lists;
        if (params.reason !== "enrichment_unavailable") return [];
        if (sql.startsWith("SELECT DISTINCT")) return [{ workspace: "ws_news" }];
        if (!sql.includes("step = {step:String}")) return [];
        lists += 1;
        if (lists < 100) upkeep.replaySoon("ws_news");
        return [];
      };
      const upkeep = startRejectRetries({
        ...endpoints.service,
        releases,
        clickhouse: Object.assign(Object.create(clickhouse), { rows }),
      });
      await until(async () => listsBeforeOthers !== null);
      await releases.release();
      expect(listsBeforeOthers).to.equal(1);
    }).timeout(30_000);

    it("should report news also when the word that it is kept was lost", async () => {
      const { postgres } = endpoints.service;
      let isLosing = true;
      const losing: Postgres = {
        ...postgres,
        transaction: async (run) => {
          const answer = await postgres.transaction(run);
          if (isLosing) throw new PostgresUnavailable("its answer was lost");
          return answer;
        },
      };
      const news: string[] = [];
      const keptNews = (workspace: string) => void news.push(workspace);
      const event = metaOf({ workspace: endpoints.workspace, provider: "stripe" });
      const body = reported("evt", "customer.discount.created", { ...half, id: "di_lost" });
      const service = { objects: openStoredObjects(losing), keptNews };
      const [lost] = await Promise.allSettled([keptFor(service, stripe, event, body)]);
      expect(lost.status).to.equal("rejected");
      isLosing = false;
      await keptFor(service, stripe, event, body);
      expect(news).to.deep.equal([endpoints.workspace]);
    });

    it("should write what is reported again only where it says something new", async () => {
      const { postgres } = endpoints.service;
      let writes = 0;
      const counting: Postgres = {
        ...postgres,
        transaction: (run) => {
          writes += 1;
          return postgres.transaction(run);
        },
      };
      const service = { objects: openStoredObjects(counting), keptNews: () => {} };
      const report = async (workspace: string, percent: number): Promise<number> => {
        const event = metaOf({ workspace, provider: "stripe" });
        const discount = { ...half, id: "di_again", percent_off: percent };
        const body = reported("evt", "customer.discount.created", {
          ...discount,
          source: { type: "coupon", coupon: { ...coupon, percent_off: percent } },
        });
        await keptFor(service, stripe, event, body);
        return writes;
      };
      const { workspace: other } = await openEndpoints();
      const first = await report(endpoints.workspace, 50);
      expect(first).to.be.above(0);
      expect(await report(endpoints.workspace, 50)).to.equal(first);
      expect(await report(endpoints.workspace, 40)).to.be.above(first);
      const before = writes;
      expect(await report(other, 50)).to.be.above(before);
    });

    it("should keep coupons of two accounts apart that chose one id for them", async () => {
      const shop = await openEndpoints();
      const [first, second] = [await connect(shop, "one"), await connect(shop, "two")];
      for (const [account, percentOff, at] of [
        [first, 10, createdAt],
        [second, 50, createdAt + 1000],
      ] as const) {
        const summer = { ...coupon, id: "SUMMER", percent_off: percentOff };
        await account({ ...reported("evt_summer", "coupon.created", summer), created: at / 1000 });
      }
      const discount = JSON.stringify({ ...half, source: { type: "coupon", coupon: "SUMMER" } });
      const own = JSON.stringify(subscription).replace('"di_half"', discount);
      await first(JSON.parse(own.replaceAll("_kept", "_one")));
      await second(JSON.parse(own.replaceAll("_kept", "_two")));
      const { readKey: key } = shop;
      await until(async () => (await figures(key)).active_subscribers === 2);
      expect(await mrr(key)).to.equal(10 * 0.9 + 10 * 0.5);
    }).timeout(30_000);

    /** What delivers to an integration of its own; event ids are an account's own, too. */
    async function connect(shop: Endpoints, name: string) {
      const credentials = { signing_secret: `whsec_${name}` };
      const { webhook_path: path } = await shop.integrate("stripe", credentials);
      let sent = 0;
      return async (event: JsonObject): Promise<void> => {
        sent += 1;
        const body = eventBody({ ...event, id: `evt_${name}_${sent}` });
        const signed = stripe.sign(body, credentials, Date.now());
        expect((await shop.post(path, signed)).status).to.equal(200);
      };
    }

    it("should gather what several events report one thing, once, in any order", async () => {
      const { postgres } = endpoints.service;
      const scope = { ...scopeOf(endpoints), provider: "x" };
      const objects = openStoredObjects(postgres);
      const gather = (object: object) =>
        objects.keep(scope, [{ id: "one", reportedAt: 0, refers: [], object, merges: true }]);
      const kept = async () => (await objects.recall(scope, ["one"])).get("one");
      expect(await gather({ b: 2 })).to.equal(true);
      expect(await gather({ a: 1 })).to.equal(true);
      expect(await gather({ b: 3 }), "what was reported first stays").to.equal(false);
      expect(await kept()).to.deep.equal({ a: 1, b: 2 });
      const many = Array.from({ length: limits.mergedFieldsMax }, (_, index) => [index, 0]);
      await gather(Object.fromEntries(many));
      expect(await gather({ c: 4 }), "there is no more room").to.equal(false);
    });

    /** The subscription again, by another name, and its discount. */
    function another(name: string): JsonObject {
      return JSON.parse(
        JSON.stringify(subscription)
          .replaceAll("_kept", `_${name}`)
          .replaceAll("di_half", `di_${name}`),
      );
    }

    /** What a processor does first when it reads the discount. */
    async function keep(name: string): Promise<void> {
      const given = reported("evt", "customer.discount.created", { ...half, id: `di_${name}` });
      const objects = openStoredObjects(endpoints.service.postgres);
      await objects.keep(scopeOf(endpoints), keeps(given));
    }

    function scopeOf({ workspace }: Endpoints): KeptScope {
      return { workspace, environment: "live", provider: "stripe", integration: null };
    }

    async function deliver(event: JsonObject): Promise<void> {
      expect((await endpoints.deliver(eventBody(event))).status).to.equal(200);
    }

    const openRejects = (): Promise<Record<string, unknown>[]> => endpoints.rejects();

    async function mrr(key = endpoints.readKey): Promise<number> {
      return (await figures(key)).current_mrr;
    }

    async function figures(key: string): Promise<MrrAnswer["data"]> {
      return (await endpoints.get("/v1/metrics/mrr", key)).json.data;
    }
  });
});
