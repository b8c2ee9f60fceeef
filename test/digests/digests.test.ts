/** Digests end to end: chosen in the dashboard, sent by the running service to a mail server. */
import { expect } from "chai";
import { limits } from "../../config.js";
import { utcDay } from "../../schemas/money/rates.js";
import {
  lastPeriodEnd,
  periodStart,
  claimDigest,
  digestNews,
  digestOf,
  dueDigests,
} from "../../workspaces/digests.js";
import { leave } from "../../workspaces/members/memberships.js";
import { memberOf } from "../harness/browser.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { openReceiver } from "../harness/receiver.js";

const end = lastPeriodEnd("daily", Date.now());
const dayBefore = periodStart("daily", end);
const byMail = (member: string) => ({ member, to_webhooks: false });

describe("Digests", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  let path: string;

  before(async () => {
    path = `/v1/manage${endpoints.path}/digests`;
    const subscriptions = [
      { name: "before", day: periodStart("daily", dayBefore), amount: 20 },
      { name: "within", day: dayBefore, amount: 30 },
    ];
    for (const { name, day, amount } of subscriptions) {
      await endpoints.record({
        event_id: `digest-${name}`,
        event_type: "subscription.new",
        occurred_at: `${utcDay(day)}T10:00:00Z`,
        subscription_id: name,
        customer_id: name,
        interval: "month",
        product_id: "Atlas <1>",
        amount,
      });
    }
    await endpoints.booked();
  });

  let made = 0;

  /** Somebody with a daily digest. */
  async function reader() {
    const email = `reader-${(made += 1)}@example.com`;
    const browser = await memberOf(endpoints, "viewer", email);
    const chosen = await browser.call("POST", `${path}/email`, { frequency: "daily" });
    expect(chosen.status, chosen.text).to.equal(200);
    const id = String(chosen.json.data.id);
    const shown = async () => (await browser.call("GET", path)).json.data.email;
    return { browser, user: browser.id, email, id, shown };
  }

  /** As if the day of `periodEnd` had come, or the pause before another try were over. */
  async function makeDue(id: string, periodEnd = end): Promise<void> {
    const due = "UPDATE digests SET period_end = $2, due_at = $3 WHERE id = $1";
    const values = [id, new Date(periodEnd), new Date(Date.now() - 1)];
    await endpoints.service.postgres.query(due, values);
    digestNews.announce();
  }

  const mailsTo = (email: string) =>
    endpoints.mailServer.mails.filter(({ to }) => to.includes(email));

  it("should send the figures of the interface, frozen, once", async () => {
    const { email, id, shown } = await reader();
    await makeDue(id);
    await until(async () => (await shown()).sent_at !== null);
    const [mail, ...more] = mailsTo(email);
    expect(more).to.deep.equal([]);
    const text = mail?.text ?? "";
    expect(text).to.include(`Subject: Endpoints, ${utcDay(dayBefore)}: MRR €50.00`);
    expect(text).to.include("MRR is €50.00, up €30.00 (150%) from €20.00 a day before.");
    expect(text).to.include("It grew by new customers (€30.00), most of all in Atlas <1>.");
    expect(text).to.include(
      "Revenue of the day was €30.00 from 1 sale, after €20.00 from 1 sale the day before.",
    );
    expect(text, "HTML").to.include("most of all in Atlas &lt;1&gt;.");
    expect(text).to.match(/MRR day by day: €[\d.]+ on [\d-]+, €50.00 on [\d-]+, between /);
    expect(text).to.include('<img src="cid:mrr"').and.include("Content-Type: image/png");
    const link = new URL(/^http\S+\/mrr\?\S+$/m.exec(text)?.[0] ?? "");
    expect(link.origin).to.equal(endpoints.base);
    const { at, known_at: knownAt } = Object.fromEntries(link.searchParams);
    const asked = `/v1/metrics/mrr?at=${at}&known_at=${knownAt}`;
    expect((await endpoints.get(asked)).json.data.current_mrr).to.equal(50);
    const { next_at: next, problem } = await shown();
    expect(problem).to.equal(null);
    expect(Date.parse(next)).to.be.greaterThan(Date.now());
  });

  it("should try again with growing pauses, then give up and say so", async () => {
    const { email, id, shown } = await reader();
    const { mailServer, service } = endpoints;
    mailServer.refusal = 451;
    const pauses: number[] = [];
    try {
      for (let tries = 1; tries <= limits.digestTriesMax; tries += 1) {
        const asked = mailServer.asked;
        const before = Date.now();
        await makeDue(id);
        await until(() => mailServer.asked > asked);
        const failed = async () => (await shown()).problem !== null;
        await until(failed);
        if (tries === limits.digestTriesMax) break;
        pauses.push(Math.floor((Date.parse((await shown()).next_at) - before) / 60_000));
        await service.postgres.query("UPDATE digests SET problem = NULL WHERE id = $1", [id]);
      }
    } finally {
      mailServer.refusal = null;
    }
    expect(pauses).to.deep.equal([5, 15, 45, 135, 405]);
    expect((await shown()).problem).to.equal("The mail server refused it with 451.");
    const { json } = await endpoints.manage("GET", `${endpoints.path}/activity`);
    expect(json.data).to.deep.include.members([
      { ...json.data[0], actor: "digests", action: "digest.failed", object: id },
    ]);
    expect(mailsTo(email)).to.deep.equal([]);
    // The next period begins anew.
    await makeDue(id);
    await until(async () => (await shown()).sent_at !== null);
    expect(mailsTo(email)).to.have.length(1);
    expect((await shown()).problem).to.equal(null);
  });

  it("should be claimed by one of many processes, and again if that one is killed", async () => {
    const { postgres } = endpoints.service;
    const { id, user } = await reader();
    const now = new Date();
    const own = await digestOf(postgres, endpoints.workspace, byMail(user));
    if (own === null) throw new Error("it was chosen");
    const claims = await Promise.all([1, 2, 3].map(() => claimDigest(postgres, own, now)));
    expect(claims.filter((claim) => claim !== null)).to.have.length(1);
    const dueAt = async (ms: number) =>
      (await dueDigests(postgres, new Date(ms))).some((due) => due.id === id);
    const again = now.getTime() + limits.digestRetryMs;
    expect(await dueAt(again - 1)).to.equal(false);
    expect(await dueAt(again)).to.equal(true);
  });

  it("should end by one click of a mail program, not when a link is opened", async () => {
    const { email, id, shown } = await reader();
    await makeDue(id);
    await until(() => mailsTo(email).length > 0);
    const mail = mailsTo(email)[0]?.text ?? "";
    expect(mail).to.match(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
    const url = /^List-Unsubscribe: <(\S+)>/m.exec(mail)?.[1] ?? "";
    expect(mail).to.include(`No more of these: ${url}`);
    const { origin, pathname: link } = new URL(url);
    expect(origin).to.equal(endpoints.base);
    const asked = await endpoints.call(link);
    expect(asked.status).to.equal(200);
    expect(asked.text).to.include('<form method="post"><button>Unsubscribe</button></form>');
    expect(await shown()).to.include({ id });
    const body = new URLSearchParams({ "List-Unsubscribe": "One-Click" });
    const post = (to: string) => endpoints.call(to, { method: "POST", body });
    for (const wrong of [link.slice(0, -1), link.replace(id, "dig_other"), "/unsubscribe/x"]) {
      expect((await post(wrong)).status, wrong).to.equal(404);
    }
    expect(await shown()).to.include({ id });
    for (const _time of [1, 2]) {
      const done = await post(link);
      expect(done.status).to.equal(200);
      expect(done.text).to.include("You get no more of these e-mails.");
    }
    expect(await shown()).to.equal(null);
  });

  it("should be sent to webhooks, once for each period though a process is killed", async () => {
    const { manage, path: workspace } = endpoints;
    const chosen = () => manage("POST", `${workspace}/digests/webhook`, { frequency: "daily" });
    expectError(await chosen(), "422 webhook_not_set_up");
    const receiver = await openReceiver("digests");
    const wanted = { url: receiver.url, environment: "Production", events: ["digest.ready"] };
    const hook = (await manage("POST", `${workspace}/webhooks`, wanted)).json.data;
    receiver.secrets = [hook.secret];
    const { id } = (await chosen()).json.data;
    const shown = async () => (await manage("GET", `${workspace}/digests`)).json.data.webhook;
    const send = async (periodEnd: number) => {
      const { postgres } = endpoints.service;
      await postgres.query("UPDATE digests SET sent_at = NULL WHERE id = $1", [id]);
      await makeDue(id, periodEnd);
      await until(async () => (await shown()).sent_at !== null);
    };
    await send(end);
    // As if the process had been killed before it noted that it was sent.
    await send(end);
    await send(dayBefore);
    await until(() => receiver.taken.length >= 2);
    const { data: sent } = (await manage("GET", `${workspace}/webhooks/${hook.id}/deliveries`))
      .json;
    expect(sent).to.have.length(2);
    const [call, earlier] = [end, dayBefore].map((to) =>
      receiver.taken.find(({ data }) => data.to === utcDay(to)),
    );
    expect(earlier?.data).to.deep.include({ mrr: { before: 0, now: 20 } });
    expect(call).to.deep.include({ type: "digest.ready", verifiedBy: [true] });
    const { text, picture, links, known_at: knownAt, ...figures } = call?.data ?? {};
    expect(figures).to.deep.equal({
      digest: id,
      frequency: "daily",
      segment: null,
      from: utcDay(dayBefore),
      to: utcDay(end),
      at: new Date(end - 1).toISOString(),
      title: `Endpoints, ${utcDay(dayBefore)}: MRR €50.00`,
      currency: "EUR",
      mrr: { before: 20, now: 50 },
      revenue: { before: 20, now: 30 },
      sales: { before: 1, now: 1 },
    });
    expect(text).to.include("It grew by new customers (€30.00)").and.include(links.mrr);
    expect(text).not.to.include("unsubscribe");
    expect(picture).to.match(/^data:image\/png;base64,iVBOR/);
    const { origin, pathname, searchParams } = new URL(links.revenue);
    expect([origin, pathname]).to.deep.equal([endpoints.base, "/revenue"]);
    expect(searchParams.get("known_at")).to.equal(knownAt);

    await manage("PATCH", `${workspace}/webhooks/${hook.id}`, { enabled: false });
    await makeDue(id);
    await until(async () => (await shown()).problem !== null);
    const problem = "Every webhook endpoint for digest.ready is disabled.";
    expect(await shown()).to.deep.include({ problem });
    expect((await chosen()).json.error.message).to.equal(problem);
    expect((await manage("DELETE", `${workspace}/digests/webhook`)).status).to.equal(200);
    expect(await shown()).to.equal(null);
  });

  it("should preview the last period without sending anything", async () => {
    const { json } = await endpoints.manage("GET", `${endpoints.path}/digests/preview`);
    expect(json.data.subject).to.match(/^Endpoints, [\d-]+ to [\d-]+: MRR €/);
    expect(json.data.text).to.include("Revenue of the week was ");
    expect(json.data.html).to.include("<li><a href=");
    expect(json.data.picture).to.match(/^data:image\/png;base64,iVBOR/);
  });

  it("should not be for members without an e-mail address, or who left", async () => {
    const nameless = await memberOf(endpoints, "viewer");
    const refused = await nameless.call("POST", `${path}/email`, { frequency: "daily" });
    expectError(refused, "422 email_unknown");
    const { postgres } = endpoints.service;
    const { user } = await reader();
    await postgres.transaction((sql) => leave(sql, endpoints.workspace, user));
    expect(await digestOf(postgres, endpoints.workspace, byMail(user))).to.equal(null);
  });

  it("should be changed and ended by whose it is", async () => {
    const { browser, id, shown } = await reader();
    const changed = await browser.call("POST", `${path}/email`, { frequency: "monthly" });
    expect(changed.json.data).to.include({ id, frequency: "monthly" });
    const other = await memberOf(endpoints, "viewer", "other@example.com");
    expect((await other.call("GET", path)).json.data.email).to.equal(null);
    expectError(await other.call("DELETE", `${path}/email`), "404 digest_unknown");
    expect((await browser.call("DELETE", `${path}/email`)).status).to.equal(200);
    expect(await shown()).to.equal(null);
  });
});
