/** `…/alerts`: rules, their test on history before they are saved, and their firings. */
import { limits } from "../../config.js";
import { originOf } from "../../http/cookies.js";
import {
  alert as alertShape,
  type AlertChannel,
  alertFiring,
  type AlertRule,
  alertTest,
  type AlertTest,
  changedAlert,
  newAlert,
  testedAlert,
} from "../../schemas/http/outbound/alerts.js";
import { unprocessable } from "../../schemas/http/errors.js";
import {
  type Alert,
  alertNews,
  changeAlert,
  deleteAlert,
  findAlert,
  insertAlert,
  listAlerts,
} from "../../workspaces/alerts/alerts.js";
import {
  channelOf,
  type FiringRecord,
  listFirings,
  messageProblems,
  type MessageRecord,
  messagesOf,
} from "../../workspaces/alerts/firings.js";
import { findMember } from "../../workspaces/members/memberships.js";
import { namingOf } from "./run.js";
import { type Naming, sentenceOf, titleOf } from "./sentences.js";
import { type Call, named, ofWorkspace } from "../manage/calls.js";
import { requireChat, requireMail } from "./receivers.js";
import { requireRoom } from "../manage/room.js";
import { watch } from "./conditions.js";
import { type Reading, readWatched } from "./watched.js";

const path = "/alerts";
const one = `${path}/{alert}`;

const alertOf = named("alert", ({ postgres, of }, id) => findAlert(postgres, of.id, id));

export const alertRoutes = [
  ofWorkspace.post(path, "Make an alert", {
    right: "assist",
    action: "alert.created",
    body: newAlert,
    answer: alertShape,
    async run(call) {
      const { postgres, ctx, of, body } = call;
      const { rule, channels, quiet = null } = body;
      await checkChannels(call, channels);
      // A figure that the interface refuses cannot be watched.
      await tested(call, rule);
      const given = { workspace: of.id, rule, channels, quiet, origin: originOf(ctx.req) };
      const made = await postgres.transaction(async (sql) => {
        await requireRoom(sql, "alerts", of.id, limits.alertsMax);
        return insertAlert(sql, given, new Date());
      });
      alertNews.announce();
      return shown(made, await namingOf(call, of));
    },
  }),
  ofWorkspace.list(path, "Alerts", {
    right: "look",
    row: alertShape,
    async read({ of, ...service }, page) {
      const alerts = await listAlerts(service.postgres, of.id, page);
      const problems = await messageProblems(service.postgres, alerts.map(idOf));
      const naming = await namingOf(service, of);
      return alerts.map((alert) => shown(alert, naming, problems.get(alert.id)));
    },
  }),
  ofWorkspace.post(`${path}/test`, "When a rule would have fired in the last 90 days", {
    right: "look",
    body: testedAlert,
    answer: alertTest,
    status: 200,
    run: (call) => tested(call, call.body.rule),
  }),
  ofWorkspace.list(`${path}/firings`, "When alerts fired, and what was sent", {
    right: "look",
    row: alertFiring,
    async read({ postgres, of }, page) {
      const rows = await listFirings(postgres, of.id, page);
      const messages = await messagesOf(postgres, rows.map(idOf));
      return rows.map((row) => firingView(row, messages));
    },
  }),
  ofWorkspace.patch(one, "Change or pause an alert", {
    right: "manage",
    action: "alert.changed",
    body: changedAlert,
    answer: alertShape,
    find: alertOf,
    async run(call) {
      const { postgres, of, found, body } = call;
      const { rule, channels, quiet, paused } = body;
      if (channels !== undefined) await checkChannels(call, channels);
      if (rule !== undefined) await tested(call, rule);
      const change = {
        ...(rule === undefined ? {} : { rule }),
        ...(channels === undefined ? {} : { channels }),
        ...(quiet === undefined ? {} : { quiet }),
        ...(paused === undefined ? {} : { paused }),
      };
      const changed = await changeAlert(postgres, found, change, new Date());
      alertNews.announce();
      return shown(changed, await namingOf(call, of));
    },
  }),
  ofWorkspace.delete(one, "Delete an alert", {
    right: "manage",
    action: "alert.deleted",
    answer: alertShape,
    find: alertOf,
    async run(call) {
      await deleteAlert(call.postgres, call.found.id);
      return shown(call.found, await namingOf(call, call.of));
    },
  }),
];

async function tested(call: Call, rule: AlertRule) {
  const { reads, ctx, of } = call;
  const reading = { service: call, reads, workspace: of, origin: originOf(ctx.req) };
  const naming = await namingOf(call, of);
  if ("integration" in rule && rule.integration && !naming.names.has(rule.integration)) {
    const message = "There is no such integration in the live environment.";
    throw unprocessable("integration_unknown", message, "rule");
  }
  return testOnHistory(reading, rule, naming, Date.now());
}

/** @throws ApiError 422 for a channel that cannot receive anything */
async function checkChannels(
  { config, postgres, vault, of: { id } }: Call,
  channels: readonly AlertChannel[],
): Promise<void> {
  for (const channel of channels) {
    if (channel.by === "chat") {
      await requireChat(postgres, id, "channels");
      continue;
    }
    requireMail(config, "channels");
    if ((await findMember(postgres, vault, id, channel.member))?.email) continue;
    const message = "Only members who signed in with a verified e-mail address get alerts.";
    throw unprocessable("email_unknown", message, "channels");
  }
}

function shown(alert: Alert, naming: Naming, problem: string | null = null) {
  const { id, rule, channels, quiet, paused, is_met: is_firing, fired_at, created_at } = alert;
  return {
    id,
    title: titleOf(rule, naming),
    rule,
    channels,
    quiet,
    paused,
    is_firing,
    fired_at,
    problem: channels.length === 0 ? "Nobody gets it any more." : (alert.problem ?? problem),
    created_at,
  };
}

function firingView(
  { id, alert, at, value, sentence, link, ended_at, created_at }: FiringRecord,
  messages: readonly MessageRecord[],
) {
  return {
    id,
    alert,
    at,
    value,
    sentence,
    link,
    ended_at,
    created_at,
    messages: messages
      .filter(({ firing }) => firing === id)
      .map(({ channel, state, sent_at, problem }) => ({
        channel: channelOf(channel),
        state,
        sent_at,
        problem,
      })),
  };
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

/**
 * What a rule would have done over the history, by the function that watches.
 * @param now ms since 1970
 * @throws ApiError as the calls about figures do
 */
async function testOnHistory(
  reading: Reading,
  rule: AlertRule,
  naming: Naming,
  now: number,
): Promise<AlertTest> {
  const from = now - limits.alertHistoryMs;
  const { series, condition } = await readWatched(reading, rule, from);
  // Before the first value there was nothing to watch.
  const begun = series.points.find(({ value }) => value !== null && value !== 0)?.start ?? from;
  const before = { isMet: false, firedAt: null, judgedTo: Math.max(from, begun) };
  const { after, firings } = watch(series, condition, before, limits.alertRestMs);
  return {
    title: titleOf(rule, naming),
    from: new Date(from).toISOString(),
    to: new Date(now).toISOString(),
    fired: firings.length,
    firings: firings.slice(-limits.alertFiringsListedMax).map((firing) => ({
      at: new Date(firing.point.at).toISOString(),
      value: firing.value,
      sentence: sentenceOf(rule, firing, naming),
    })),
    is_true_now: after.isMet,
  };
}
