/** Alerts end to end: tested, saved, watched by the running service, sent to real receivers. */
import { expect } from "chai";
import { deliver } from "../../api/alerts/deliver.js";
import { Unsubscribing } from "../../api/digests/unsubscribe.js";
import { limits } from "../../config.js";
import { utcDay } from "../../schemas/money/rates.js";
import { alertNews } from "../../workspaces/alerts/alerts.js";
import { digestNews } from "../../workspaces/digests.js";
import { claimMessages, dueMessages } from "../../workspaces/alerts/firings.js";
import { leave } from "../../workspaces/members/memberships.js";
import { type ChatServer, openChatServer } from "../apis/chat-server.js";
import { memberOf } from "../harness/browser.js";
import { type Answer, expectError, suiteEndpoints } from "../harness/endpoints.js";
import { openReceiver } from "../harness/receiver.js";
import { until } from "../harness/promises.js";

const dayMs = 24 * 60 * 60 * 1000;
const today = Math.floor(Date.now() / dayMs) * dayMs;
const daysAgo = (days: number): string => utcDay(today - days * dayMs);
const stopping = new AbortController().signal;

describe("Alerts", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  const path = () => `${endpoints.path}/alerts`;
  const chat = [{ by: "chat" }];
  const mrrAbove = (value: number) => ({
    on: "figure",
    figure: "mrr",
    interval: "day",
    condition: { is: "above", value },
  });
  let server: ChatServer;

  before(async () => {
    server = await openChatServer();
    // MRR is 20, then 50, then 30, then 70.
    const subscriptions = [
      { name: "one", began: 40, ended: 10, amount: 20 },
      { name: "two", began: 20, ended: null, amount: 30 },
      { name: "three", began: 5, ended: null, amount: 40 },
    ];
    for (const { name, began, ended, amount } of subscriptions) {
      const about = {
        subscription_id: name,
        customer_id: name,
        product_id: "atlas",
        amount,
      };
      await endpoints.record({
        ...about,
        event_id: `alert-new-${name}`,
        event_type: "subscription.new",
        occurred_at: `${daysAgo(began)}T10:00:00Z`,
        interval: "month",
      });
      if (ended === null) continue;
      await endpoints.record({
        ...about,
        event_id: `alert-end-${name}`,
        event_type: "subscription.churn",
        occurred_at: `${daysAgo(ended)}T10:00:00Z`,
      });
    }
    await endpoints.booked();
    const connected = await endpoints.manage("POST", `${endpoints.path}/chat`, { url: server.url });
    expect(connected.status, connected.text).to.equal(200);
    expect(connected.text).not.to.include("secret");
    expect(server.messages.splice(0)).to.have.length(1);
  });

  async function create(rule: object, more: object = {}): Promise<string> {
    const given = { rule, channels: chat, ...more };
    const { status, text, json } = await endpoints.manage("POST", path(), given);
    expect(status, text).to.equal(201);
    return json.data.id;
  }

  const sql = (text: string, values: readonly unknown[]) =>
    endpoints.service.postgres.query(text, values);

  async function firingsOf(alert: string): Promise<Answer["json"][]> {
    const { json } = await endpoints.manage("GET", `${path()}/firings?limit=200`);
    return json.data.filter((row: { alert: string }) => row.alert === alert);
  }

  async function shown(id: string): Promise<Answer["json"]> {
    const { json } = await endpoints.manage("GET", path());
    return json.data.find((row: { id: string }) => row.id === id);
  }

  async function fired(alert: string): Promise<Answer["json"]> {
    await until(async () => (await firingsOf(alert)).length > 0);
    return (await firingsOf(alert))[0];
  }

  /** As if these had not been judged yet. */
  async function lookAgain(alert: string, since: number): Promise<void> {
    await sql(
      `UPDATE alerts SET judged_to = $2, is_met = false, fired_at = NULL, due_at = $3
       WHERE id = $1`,
      [alert, new Date(since), new Date(Date.now() - 1)],
    );
    alertNews.announce();
  }

  /** Sends what is due so long from now. */
  async function deliverIn(ms: number): Promise<void> {
    const { service } = endpoints;
    const unsubscribing = await Unsubscribing.open(service);
    await deliver({ ...service, unsubscribing }, new Date(Date.now() + ms), stopping);
  }

  afterEach(async () => {
    await sql("DELETE FROM alerts WHERE workspace = $1", [endpoints.workspace]);
    server.messages.length = 0;
  });

  it("should do on the same data what its test on history said", async () => {
    const rule = mrrAbove(45);
    const tested = await endpoints.manage("POST", `${path()}/test`, { rule });
    expect(tested.status, tested.text).to.equal(200);
    const { firings, title, is_true_now: isTrue } = tested.json.data;
    expect(title).to.equal("MRR above €45.00");
    expect(isTrue).to.equal(true);
    expect(firings).to.deep.equal([
      {
        at: `${daysAgo(19)}T00:00:00.000Z`,
        value: 50,
        sentence: `MRR was €50.00 at the end of ${daysAgo(20)}, above €45.00.`,
      },
      {
        at: `${daysAgo(4)}T00:00:00.000Z`,
        value: 70,
        sentence: `MRR was €70.00 at the end of ${daysAgo(5)}, above €45.00.`,
      },
    ]);
    const id = await create(rule);
    const now = await fired(id);
    expect(now.sentence).to.equal("MRR is €70.00, above €45.00.");
    await sql("DELETE FROM alert_firings WHERE alert = $1", [id]);
    await lookAgain(id, Date.parse(tested.json.data.from));
    await until(async () => (await firingsOf(id)).length === 2);
    const low = { ...rule, condition: { is: "below", value: 10 } };
    const before = await endpoints.manage("POST", `${path()}/test`, { rule: low });
    expect(before.json.data.fired, "before there was anything").to.equal(0);
    const found = (await firingsOf(id)).map(({ at, value, sentence }) => ({ at, value, sentence }));
    expect(found.toSorted((one, other) => (one.at < other.at ? -1 : 1))).to.deep.equal(firings);
  });

  it("should send firings together, each with a frozen screen of the same figure", async () => {
    const mrr = await create(mrrAbove(45));
    const revenue = await create({
      on: "figure",
      figure: "revenue",
      interval: "month",
      filters: { provider: "custom" },
      condition: { is: "above", value: 39 },
    });
    const values = new Map([
      [mrr, 70],
      [revenue, (await fired(revenue)).value],
    ]);
    await fired(mrr);
    await deliverIn(limits.alertGatherMs);
    expect(server.messages.map(({ text }) => text)).to.deep.equal(["Endpoints: 2 alerts"]);
    const [message] = server.messages;
    for (const [id, value] of values) {
      const { link, sentence, messages } = await fired(id);
      expect(message?.whole).to.include(`${sentence}\n${link}`);
      expect(messages).to.have.length(1);
      expect(messages[0]).to.include({ state: "sent", problem: null });
      const { origin, pathname, searchParams } = new URL(link);
      expect(origin).to.equal(endpoints.base);
      const { workspace, environment, ...asked } = Object.fromEntries(searchParams);
      expect({ workspace, environment }).to.deep.equal({
        workspace: endpoints.workspace,
        environment: "live",
      });
      expect(asked).to.include.keys("at", "known_at", "from", "to");
      const metric = { "/overview": "summary", "/revenue": "revenue" }[pathname];
      const query = new URLSearchParams(asked);
      const { data } = (await endpoints.get(`/v1/metrics/${metric}?${query.toString()}`)).json;
      expect(metric === "summary" ? data.mrr : data.totals.revenue).to.equal(value);
    }
    // Once: what is sent is not due again.
    await deliverIn(dayMs);
    expect(server.messages).to.have.length(1);
  });

  it("should tell the webhooks of the workspace, once for each firing", async () => {
    const receiver = await openReceiver("alerts");
    const hooks = `${endpoints.path}/webhooks`;
    const asked = { url: receiver.url, environment: "Production", events: ["alert.fired"] };
    const made = await endpoints.manage("POST", hooks, asked);
    expect(made.status, made.text).to.equal(201);
    receiver.secrets = [made.json.data.secret];
    const id = await create(mrrAbove(45));
    const { sentence, link, at } = await fired(id);
    // As if the process had been killed before it noted the firing.
    await sql("DELETE FROM alert_firings WHERE alert = $1", [id]);
    await lookAgain(id, Date.parse((await shown(id)).created_at));
    await fired(id);
    await until(async () => receiver.taken.length > 0);
    const [call] = receiver.taken;
    expect(call?.verifiedBy).to.deep.equal([true]);
    const title = "MRR above €45.00";
    const data = { alert: id, title, sentence, value: 70, fired_at: at, link };
    expect(call?.data).to.deep.equal(data);
    const sent = await endpoints.manage("GET", `${hooks}/${made.json.data.id}/deliveries`);
    expect(
      sent.json.data.filter(({ type }: { type: string }) => type === "alert.fired"),
    ).to.have.length(1);
    await endpoints.manage("DELETE", `${hooks}/${made.json.data.id}`);
  });

  it("should send to members by e-mail, and give up when they are gone", async () => {
    const { postgres } = endpoints.service;
    const email = "watcher@example.com";
    const { id: member } = await memberOf(endpoints, "viewer", email);
    const id = await create(mrrAbove(45), { channels: [{ by: "email", member }] });
    await fired(id);
    await deliverIn(limits.alertGatherMs);
    const mails = () => endpoints.mailServer.mails.filter(({ to }) => to.includes(email));
    expect(mails()).to.have.length(1);
    expect(mails()[0]?.text).to.include("Subject: Endpoints: MRR is €70.00, above €45.00.");
    await postgres.transaction((tx) => leave(tx, endpoints.workspace, member));
    await lookAgain(id, Date.now() - dayMs);
    await until(async () => (await firingsOf(id)).length === 2);
    await deliverIn(limits.alertGatherMs);
    expect((await shown(id)).problem).to.equal("The receiver is no longer a member.");
    const states = (await firingsOf(id)).map(({ messages }) => messages[0].state);
    expect(states).to.deep.equal(["given_up", "sent"]);
    expect(mails()).to.have.length(1);
  });

  it("should end for a member by one click of the mail program", async () => {
    const email = "tired@example.com";
    const { id: member } = await memberOf(endpoints, "viewer", email);
    const id = await create(mrrAbove(45), { channels: [...chat, { by: "email", member }] });
    await fired(id);
    await deliverIn(limits.alertGatherMs);
    const mails = () => endpoints.mailServer.mails.filter(({ to }) => to.includes(email));
    const link = /^List-Unsubscribe: <(\S+)>/m.exec(mails()[0]?.text ?? "")?.[1] ?? "";
    const body = new URLSearchParams({ "List-Unsubscribe": "One-Click" });
    const done = await endpoints.call(new URL(link).pathname, { method: "POST", body });
    expect(done.status, done.text).to.equal(200);
    expect((await shown(id)).channels).to.deep.equal(chat);
  });

  it("should lose nothing while the receiver is away, and say so meanwhile", async () => {
    const id = await create(mrrAbove(45));
    await fired(id);
    server.refusal = 503;
    await deliverIn(limits.alertGatherMs);
    expect((await shown(id)).problem).to.equal("It answered 503.");
    server.refusal = "hang up";
    await deliverIn(limits.alertGatherMs + limits.alertRetryMs);
    expect((await shown(id)).problem).to.match(/^It could not be reached/);
    server.refusal = null;
    const second = limits.alertGatherMs + 4 * limits.alertRetryMs;
    await deliverIn(second - 1_000);
    expect(server.messages, "before its next try").to.deep.equal([]);
    await deliverIn(second + 1_000);
    expect(server.messages).to.have.length(1);
    expect((await shown(id)).problem).to.equal(null);
    await deliverIn(dayMs);
    expect(server.messages).to.have.length(1);
  });

  it("should give up after the last try, and say so in the activity log", async () => {
    const id = await create(mrrAbove(45));
    await fired(id);
    server.refusal = 404;
    const pauses: number[] = [];
    for (let tries = 1; tries <= limits.alertTriesMax; tries += 1) {
      const now = Date.now();
      await deliverIn(limits.alertGatherMs);
      const [row] = await endpoints.service.postgres.query<{ due_at: Date }>(
        "SELECT due_at FROM alert_messages WHERE workspace = $1",
        [endpoints.workspace],
      );
      const pause = (row?.due_at.getTime() ?? 0) - now - limits.alertGatherMs;
      pauses.push(Math.floor(pause / limits.alertRetryMs));
      const again = "UPDATE alert_messages SET due_at = now() WHERE workspace = $1";
      await sql(again, [endpoints.workspace]);
    }
    server.refusal = null;
    expect(pauses).to.deep.equal([1, 3, 9, 27, 81, 243, 729, 2187]);
    await deliverIn(dayMs);
    expect(server.messages).to.deep.equal([]);
    expect((await shown(id)).problem).to.equal("It answered 404.");
    const { json } = await endpoints.manage("GET", `${endpoints.path}/activity`);
    expect(json.data.map(({ action }: { action: string }) => action)).to.include("alert.failed");
  });

  it("should be sent by another process when one is killed amid it, and once", async () => {
    const { postgres } = endpoints.service;
    const id = await create(mrrAbove(45));
    await fired(id);
    const later = new Date(Date.now() + limits.alertGatherMs);
    const due = (await dueMessages(postgres, later)).map((message) => message.id);
    const claims = await Promise.all(
      ["a", "b", "c"].map((name) => claimMessages(postgres, due, `sen_${name}`, later)),
    );
    expect(claims.flat()).to.have.length(1);
    // That process is gone, and nobody knows whether it sent it.
    await deliverIn(limits.alertGatherMs + limits.alertRetryMs + 1_000);
    expect(server.messages).to.have.length(1);
    await deliverIn(dayMs);
    expect(server.messages).to.have.length(1);
  });

  it("should not let a slow receiver delay another", async () => {
    const { mailServer } = endpoints;
    const email = "fast@example.com";
    const { id: member } = await memberOf(endpoints, "viewer", email);
    const id = await create(mrrAbove(45), { channels: [...chat, { by: "email", member }] });
    await fired(id);
    server.isSlow = true;
    const delivering = deliverIn(limits.alertGatherMs);
    await until(async () => mailServer.mails.some(({ to }) => to.includes(email)));
    await until(async () => server.held.length > 0);
    // What fires meanwhile is found, too: looking is not sending.
    const other = await create(mrrAbove(46));
    await fired(other);
    server.isSlow = false;
    for (const answer of server.held.splice(0)) answer();
    await delivering;
    const texts = () => server.messages.map(({ text }) => text);
    expect(texts()).to.deep.equal(["Endpoints: MRR is €70.00, above €45.00."]);
    await deliverIn(2 * limits.alertGatherMs);
    expect(texts().slice(1)).to.deep.equal(["Endpoints: MRR is €70.00, above €46.00."]);
  });

  it("should hold messages in quiet hours, and send them as one when these end", async () => {
    const clock = (hours: number) =>
      new Date(Date.now() + hours * 60 * 60 * 1000).toISOString().slice(11, 16);
    const quiet = { from: clock(-1), to: clock(2), time_zone: "UTC" };
    const ids = [await create(mrrAbove(45), { quiet }), await create(mrrAbove(46), { quiet })];
    for (const id of ids) await fired(id);
    await deliverIn(limits.alertGatherMs);
    await deliverIn(60 * 60 * 1000);
    expect(server.messages).to.deep.equal([]);
    await deliverIn(2 * 60 * 60 * 1000);
    expect(server.messages.map(({ text }) => text)).to.deep.equal(["Endpoints: 2 alerts"]);
  });

  it("should send no more than so many messages a day, and the rest as one", async () => {
    const id = await create(mrrAbove(45));
    const { id: firing } = await fired(id);
    for (let sent = 1; sent < limits.alertMessagesPerDayMax; sent += 1) {
      await sql(
        `INSERT INTO alert_messages
           (id, firing, workspace, channel, state, due_at, sent_in, sent_at)
         VALUES ($1, $2, $3, 'chat', 'sent', now(), $1, now())`,
        [`msg_cap_${sent}`, firing, endpoints.workspace],
      );
    }
    await deliverIn(limits.alertGatherMs);
    expect(server.messages[0]?.whole).to.include("This is message 20 today");
    const more = [await create(mrrAbove(46)), await create(mrrAbove(47))];
    for (const each of more) await fired(each);
    await deliverIn(limits.alertGatherMs);
    expect(server.messages).to.have.length(1);
    await deliverIn(today + dayMs - Date.now() + 1_000);
    expect(server.messages.slice(1).map(({ text }) => text)).to.deep.equal(["Endpoints: 2 alerts"]);
  });

  it("should watch silence, rejects and comparisons, and end when these do", async () => {
    const { id: integration } = await endpoints.integrate("custom", {});
    const silent = await create({ on: "silence", hours: 2, integration });
    expect((await fired(silent)).sentence).to.equal("No event came from custom for 2 hours.");
    const heard = await create({ on: "silence", hours: 2 });
    const rejects = await create({ on: "rejects", above: 0 });
    const differences = await create({ on: "differences", above: 2, integration });
    const month = utcDay(today).slice(0, 7);
    const costs = [
      { kind: "fee", differing: 2 },
      { kind: "tax", differing: 1 },
    ];
    const report = { differences_total: 3, kinds: { dispute: 1, payment: 2 }, costs };
    await sql(
      `INSERT INTO reconciliations (integration, month, state, due_at, compared_at, report)
       VALUES ($1, $2, 'done', now(), now(), $3)`,
      [integration, month, JSON.stringify(report)],
    );
    await endpoints.record({
      event_id: "alert-reject",
      event_type: "subscription.churn",
      product_id: "unknown",
      amount: 1,
    });
    await endpoints.booked();
    await until(async () => (await endpoints.rejects()).length > 0);
    for (const id of [rejects, differences]) await lookAgain(id, Date.now() - 1_000);
    expect((await fired(rejects)).sentence).to.equal("1 event could not be booked, more than 0.");
    expect((await fired(differences)).sentence).to.equal(
      "2 payments and 1 dispute of the last three months differ from the provider's list from " +
        "custom, more than 2. Not counted: the fees of 2 payments and the tax of 1 payment.",
    );
    expect(await firingsOf(heard)).to.deep.equal([]);
    await sql("UPDATE reconciliations SET report = '{\"differences_total\": 0}'", []);
    await sql("UPDATE alerts SET due_at = now() WHERE id = $1", [differences]);
    alertNews.announce();
    await until(async () => (await fired(differences)).ended_at !== null);
    expect((await shown(differences)).is_firing).to.equal(false);
    const { link } = await fired(silent);
    expect(new URL(link).pathname).to.equal(`/settings/integrations/${integration}`);
  });

  it("should share the chat channel with a digest of the workspace", async () => {
    const digest = `${endpoints.path}/digests/chat`;
    const chosen = await endpoints.manage("POST", digest, { frequency: "daily" });
    expect(chosen.status, chosen.text).to.equal(200);
    await sql("UPDATE digests SET period_end = $2, due_at = $3 WHERE id = $1", [
      chosen.json.data.id,
      new Date(today),
      new Date(Date.now() - 1),
    ]);
    digestNews.announce();
    await until(async () => server.messages.length > 0);
    expect(server.messages[0]?.text).to.equal(`Endpoints, ${daysAgo(1)}: MRR €70.00`);
    expect(server.messages[0]?.whole).to.match(/^MRR: €70\.00 .*\nhttp\S+known_at=\S+$/m);
    expect(server.messages[0]?.whole).not.to.include("unsubscribe");
    expect((await endpoints.manage("DELETE", digest)).status).to.equal(200);
  });

  it("should be changed, paused and deleted", async () => {
    const id = await create(mrrAbove(1_000));
    const patch = (body: object) => endpoints.manage("PATCH", `${path()}/${id}`, body);
    expect((await patch({ paused: true, rule: mrrAbove(45) })).json.data).to.include({
      paused: true,
      title: "MRR above €45.00",
    });
    expect(await firingsOf(id)).to.deep.equal([]);
    expect((await patch({ paused: false })).json.data.paused).to.equal(false);
    await fired(id);
    expect((await shown(id)).is_firing).to.equal(true);
    await patch({ rule: mrrAbove(1_000) });
    expect((await fired(id)).ended_at).not.to.equal(null);
    const deleted = await endpoints.manage("DELETE", `${path()}/${id}`);
    expect(deleted.json.data.id).to.equal(id);
    expectError(await endpoints.manage("DELETE", `${path()}/${id}`), "404 alert_unknown");
  });

  it("should refuse what cannot be watched or sent", async () => {
    const refused = async (rule: object, more: object, expected: string) =>
      expectError(
        await endpoints.manage("POST", path(), { rule, channels: chat, ...more }),
        expected,
      );
    const filters = { currency: "XXX1" };
    await refused({ ...mrrAbove(1), filters }, {}, "400 parameter_invalid currency");
    await refused({ ...mrrAbove(1), figure: "profit" }, {}, "422 field_invalid");
    await refused({ on: "silence", hours: 1, integration: "int_x" }, {}, "422 integration_unknown");
    const channels = [{ by: "email", member: "usr_nobody" }];
    await refused(mrrAbove(1), { channels }, "422 email_unknown channels");
    const quiet = { from: "22:00", to: "07:00", time_zone: "Mars/Base" };
    await refused(mrrAbove(1), { quiet }, "422 field_invalid quiet.time_zone");
    const put = (url: string) => endpoints.manage("POST", `${endpoints.path}/chat`, { url });
    expectError(await put("ftp://127.0.0.1/x"), "422 url_refused url");
    server.refusal = 404;
    expectError(await put(server.url), "422 chat_not_delivered url");
    server.refusal = null;
  });
});
