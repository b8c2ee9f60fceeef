import { expect } from "chai";
import { parseBody } from "../../../schemas/parse.js";
import { createGumroad } from "../../../providers/gumroad/index.js";
import {
  membershipPing,
  type MembershipNews,
  salePing,
  type SaleResource,
} from "../../../ops/payloads/gumroad.js";
import { pathOfSale, saleAnswer } from "../../payloads/gumroad-answers.js";
import { type Known, nothingKnown } from "../../../providers/provider.js";

const gumroad = createGumroad();
const seller = { seller_id: "c2VsbGVyLW1pbmU=" };
const at = Date.UTC(2026, 4, 4, 12);
const sale = { sale: "sale-1==", at, product: "prd-1==", cents: 1000n };
const ofMembership = { ...sale, subscription: "mem-1==", recurrence: "monthly" as const };
const membership = {
  subscription: "mem-1==",
  product: "prd-1==",
  createdAt: at,
  recurrence: "monthly" as const,
};
const upgrade: MembershipNews = {
  resource: "subscription_updated",
  type: "upgrade",
  effectiveAt: at,
  before: { tier: "Pro", recurrence: "monthly", price: 1000n },
  after: { tier: "Max", recurrence: "monthly", price: 2500n },
};

function parsed(body: Buffer): unknown {
  const read = parseBody(gumroad, body);
  if (!read.ok) throw new Error(read.message);
  return read.value;
}

describe("Gumroad's pings", () => {
  const verdictOf = async (body: Buffer, ...given: { seller_id: string }[]) => {
    const verdict = await gumroad.verify({ headers: {}, body }, given, at);
    return verdict.ok ? verdict.verdict : verdict.reason;
  };
  const { body: mine } = gumroad.sign(salePing("sale", sale), seller, at);

  it("should be refused when they name another seller, whatever else they say", async () => {
    expect(await verdictOf(mine, seller)).to.equal("url");
    expect(await verdictOf(mine, { seller_id: "other" })).to.equal("signature_mismatch");
    expect(await verdictOf(mine, { seller_id: "other" }, seller)).to.equal("url");
    const empty = Buffer.from(mine.toString().replace(/seller_id=[^&]*/, "seller_id="));
    expect(await verdictOf(empty, seller)).to.equal("signature_mismatch");
  });

  it("should be read as JSON, too", async () => {
    const fields = Object.fromEntries(new URLSearchParams(mine.toString()));
    const json = Buffer.from(JSON.stringify({ ...fields, price: Number(fields["price"]) }));
    expect(await verdictOf(json, seller)).to.equal("url");
    expect(await verdictOf(json, { seller_id: "other" })).to.equal("signature_mismatch");
    expect(gumroad.heading(parsed(json))).to.deep.equal(gumroad.heading(parsed(mine)));
    expect(gumroad.decode(parsed(json))).to.deep.equal(gumroad.decode(parsed(mine)));
  });

  it("should not take a seller's custom field for their own", () => {
    const custom = (name: string, value: string) => {
      const form = new URLSearchParams(mine.toString());
      form.set(name, value);
      form.set(`custom_fields[${name}]`, value);
      return parsed(Buffer.from(form.toString()));
    };
    expect(gumroad.heading(custom("test", "true"))).to.include({ sandbox: null });
    expect(gumroad.decode(custom("price", "1"))).to.include({ reason: "malformed" });
    expect(gumroad.decode(custom("size", "1"))).to.deep.equal(gumroad.decode(parsed(mine)));
  });

  it("should be refused however the field that names the seller is written", async () => {
    for (const name of ["seller%5Fid", "%73eller_id", "a=1&seller_id"]) {
      expect(await verdictOf(Buffer.from(`${name}=other&x_seller_id=1`), seller)).to.equal(
        "signature_mismatch",
      );
    }
  });

  it("should be let in by the URL where they name no seller", async () => {
    expect(await verdictOf(membershipPing(membership, upgrade), seller)).to.equal("url");
  });

  it("should keep what is written as a list, however long, and refuse any other key twice", () => {
    const ping = membershipPing({ ...membership, sales: ["s1", "s2", "s3"] }, upgrade);
    expect(parsed(ping)).to.deep.include({ "purchase_ids[]": ["s1", "s2", "s3"] });
    expect(parseBody(gumroad, Buffer.from("price=1&price=2"))).to.include({
      ok: false,
      code: "form_duplicate_key",
    });
  });

  const forms: [string, string, object][] = [
    ["a plain pair", "price=1", { price: "1" }],
    ["nothing", "", {}],
    ["pairs of nothing", "&&a=1&", { a: "1" }],
    ["a name alone", "a&b=", { a: "", b: "" }],
    ["a second equals sign", "a=b=c", { a: "b=c" }],
    ["no name", "=1", { "": "1" }],
    ["a question mark", "?a=1", { "?a": "1" }],
    ["blanks", "full+name=A+B%20C%2B", { "full name": "A B C+" }],
    ["letters beyond ASCII", "ip_country=C%C3%B4te&b=é", { ip_country: "Côte", b: "é" }],
    ["brackets escaped once and twice", "a%5Bb%5D=1&a%255Bb=2", { "a[b]": "1", "a%5Bb": "2" }],
    ["a list", "a%5B%5D=1&a[]=2", { "a[]": ["1", "2"] }],
  ];
  for (const [title, text, expected] of forms) {
    it(`should be read with ${title}, as a browser's form is`, () => {
      expect(parsed(Buffer.from(text))).to.deep.equal(expected);
      const lists = Object.values(expected).some(Array.isArray);
      const isPlain = !lists && !text.startsWith("?");
      if (isPlain) expect(Object.fromEntries(new URLSearchParams(text))).to.deep.equal(expected);
    });
  }

  const refusals: [string, string, string][] = [
    ["half an escape", "a=1%", "form_malformed"],
    ["no escape", "a=%zz", "form_malformed"],
    ["Latin-1 in an escape", "a=%E9", "form_malformed"],
    ["half a surrogate pair", "a=%ED%A0%80", "form_malformed"],
    ["the name of a prototype", "__proto__=1", "form_forbidden_key"],
    ["one name written in two ways", "seller_id=1&seller%5Fid=2", "form_duplicate_key"],
  ];
  for (const [title, text, code] of refusals) {
    it(`should be refused with ${title}`, () => {
      expect(parseBody(gumroad, Buffer.from(text))).to.include({ ok: false, code });
    });
  }

  it("should be refused when they are not in UTF-8", () => {
    const read = parseBody(gumroad, Buffer.from("a=\xe9", "latin1"));
    expect(read).to.include({ ok: false, code: "form_malformed" });
  });

  const refund = (more: object) => parsed(salePing("refund", { ...sale, more: { ...more } }));
  const idOf = (body: unknown, receivedAt?: number) =>
    gumroad.heading(body, {}, receivedAt)?.nativeId;

  it("should be one event each, also when a retry adds a count to the body", () => {
    const first = parsed(salePing("sale", sale));
    const retried = parsed(salePing("sale", { ...sale, more: { retry_count: 2 } }));
    expect(idOf(first, at)).to.equal(idOf(retried, at + 60_000));
    expect(idOf(refund({ refunded: true }), at)).to.equal(idOf(refund({ refunded: true }), at + 1));
  });

  it("should be events of their own for two parts of one sale refunded", () => {
    expect(idOf(refund({}), at)).to.not.equal(idOf(refund({}), at + 1));
  });

  it("should ask for the record of whatever moves a sale's money, and need it", () => {
    const resources: SaleResource[] = ["sale", "refund", "dispute", "dispute_won"];
    const question = { path: pathOfSale(sale.sale), importance: "required", freshForMs: 0 };
    const asked = (ping: Buffer) => gumroad.asks?.(parsed(ping), nothingKnown);
    for (const resource of resources) {
      expect(asked(salePing(resource, sale))).to.deep.equal([question]);
    }
    const more = { is_gift_receiver_purchase: true };
    expect(asked(salePing("sale", { ...sale, cents: 0n, more }))).to.deep.equal([question]);
    expect(asked(membershipPing(membership, upgrade))).to.deep.equal([]);
  });

  const answersWith = (more: object) =>
    new Map([[pathOfSale(sale.sale), saleAnswer({ ...sale, ...more })]]);
  const part = { partiallyRefunded: true, refundable: "8.50" };
  const unread = "refund_amount_unknown";
  const returned: [
    title: string,
    ping: "dispute" | "refund",
    listedIn: string,
    record: object,
    amount: bigint | string,
  ][] = [
    ["all of a sale nothing was refunded of", "dispute", "usd", { refundable: "10" }, 1000n],
    ["all, where what was refunded cannot be read", "dispute", "jpy", part, 1000n],
    ["all, where that is contradicted", "dispute", "usd", { ...part, refundable: "12" }, 1000n],
    ["all of one refunded whole", "dispute", "usd", { refunded: true, refundable: "0" }, 1000n],
    ["a part of a sale in dollars, listed in euros now", "refund", "eur", soldIn("usd"), 150n],
    ["no part of a sale in euros, listed in dollars now", "refund", "usd", soldIn("eur"), unread],
    ["none by the sign in older records", "refund", "usd", { ...part, soldInSign: "€" }, unread],
  ];
  for (const [title, resource, listedIn, record, amount] of returned) {
    it(`should return by a ${resource} ${title}`, () => {
      const known = { kept: new Map(), answers: answersWith(record), firstReceivedAt: at };
      const decoded = gumroad.decode(parsed(salePing(resource, { ...sale, listedIn })), known);
      const name = resource === "refund" ? "RefundTotal" : "Dispute";
      expect(decoded).to.containSubset(
        typeof amount === "string"
          ? { reason: amount }
          : { facts: [{ body: { [name]: { amount } } }] },
      );
    });
  }

  function soldIn(currency: string) {
    return { ...part, soldIn: currency };
  }

  it("should be answered by the API only with an access token", async () => {
    const noPost = async () => null;
    expect(await gumroad.api?.authorize(seller, at, noPost)).to.equal(null);
    const granted = await gumroad.api?.authorize({ ...seller, access_token: "t" }, at, noPost);
    expect(granted?.headers).to.deep.equal({ authorization: "Bearer t" });
  });

  const keptBy = (ping: unknown, known: Known = nothingKnown) =>
    gumroad.keepsAnswered?.(ping, known) ?? [];

  it("should keep the earliest charge of a membership, and each change of its plan", () => {
    const [first] = keptBy(parsed(salePing("sale", ofMembership)));
    const later = { ...ofMembership, at: at + 1000, recurring: true };
    const [second] = keptBy(parsed(salePing("sale", later)));
    expect(first?.id).to.equal(second?.id);
    expect(first?.reportedAt).to.be.greaterThan(second?.reportedAt ?? 0);
    const change = parsed(membershipPing(membership, upgrade));
    const [kept] = keptBy(change);
    const [other] = keptBy(parsed(membershipPing(membership, { ...upgrade, effectiveAt: at + 1 })));
    expect(kept).to.include({ merges: true, id: other?.id });
    expect(Object.keys(Object(kept?.object))).not.to.deep.equal(Object.keys(Object(other?.object)));
    expect(gumroad.needs?.(change)).to.include.members([first?.id, kept?.id]);
    expect(keptBy(parsed(salePing("sale", sale)))).to.deep.equal([]);
  });

  it("should keep no charge of a membership that was given, whatever the ping says it is", () => {
    const ping = (isGift: boolean) =>
      parsed(salePing("sale", { ...ofMembership, more: { is_gift_receiver_purchase: isGift } }));
    const keptOf = (isGift: boolean, gift?: boolean) => {
      const answers = gift === undefined ? new Map() : answersWith({ gift });
      return keptBy(ping(isGift), { kept: new Map(), answers }).length;
    };
    expect([keptOf(true), keptOf(true, true), keptOf(false, true)]).to.deep.equal([0, 0, 0]);
    expect([keptOf(false), keptOf(false, false), keptOf(true, false)]).to.deep.equal([1, 1, 1]);
  });

  it("should know pings about instalments by the record of a sale that was paid in them", () => {
    const ping = parsed(salePing("sale", ofMembership));
    const keptWhere = (recurringBilling?: boolean) => {
      const more = recurringBilling === undefined ? {} : { recurringBilling };
      const kept = keptBy(ping, { kept: new Map(), answers: answersWith(more) });
      return new Map(kept.map(({ id, object }) => [id, object]));
    };
    const restart = membershipPing(membership, {
      resource: "subscription_restarted",
      restartedAt: at,
    });
    const needed = gumroad.needs?.(parsed(restart)) ?? [];
    expect(needed).to.include.members([...keptWhere(false).keys()]);
    const outcomes = [undefined, true, false].map((recurringBilling) => {
      const known = { kept: keptWhere(recurringBilling), answers: new Map() };
      return gumroad.decode(parsed(restart), known).outcome;
    });
    expect(outcomes).to.deep.equal(["facts", "facts", "ignored"]);
  });

  it("should not take the renewal of a known membership for a part of what is sold once", () => {
    const ping = parsed(salePing("sale", { ...ofMembership, recurring: true }));
    const answers = answersWith({ recurring: true, recurringBilling: false });
    const [begun] = keptBy(parsed(salePing("sale", ofMembership)));
    const kept = new Map([[begun?.id ?? "", begun?.object]]);
    const idsWhere = (known: Map<string, unknown>) =>
      keptBy(ping, { kept: known, answers }).map(({ id }) => id);
    expect(idsWhere(new Map())).to.include("instalments:mem-1==");
    expect(idsWhere(kept)).not.to.include("instalments:mem-1==");
  });

  it("should mean the same as JSON by the ingest endpoint", () => {
    const news = { resource: "subscription_ended", endedAt: at } as const;
    const form = parsed(membershipPing(membership, news));
    const json = { ...Object(form), "purchase_ids[]": undefined, purchase_ids: ["s1"] };
    expect(gumroad.decode(json)).to.deep.equal(gumroad.decode(form));
    const plan = { price_cents: 1000, recurrence: "monthly" };
    const nested = { ...Object(parsed(membershipPing(membership, upgrade))), old_plan: plan };
    expect(gumroad.decode(nested).outcome).to.equal("rejected");
    const charge = { cents: "1000", recurring: false, at, country: null, listed: null };
    const kept = new Map([["first-sale:mem-1==", charge]]);
    expect(gumroad.decode(nested, { kept, answers: new Map() }).outcome).to.equal("facts");
  });
});
