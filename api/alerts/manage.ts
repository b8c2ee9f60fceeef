/** `…/alerts`: rules, their test on history before they are saved, and their firings. */
import type { Context } from "koa";
import { limits } from "../../config.js";
import { readJson } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import {
  type AlertChannel,
  type AlertRule,
  changedAlert,
  newAlert,
  testedAlert,
} from "../../schemas/http/outbound/alerts.js";
import { notFound, unprocessable } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
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
  type FiringRecord,
  type MessageRecord,
  channelOf,
  listFirings,
  messageProblems,
  messagesOf,
} from "../../workspaces/alerts/firings.js";
import { chatChannelOf } from "../../workspaces/channels/chat-channels.js";
import { missingMailSettings } from "../../workspaces/channels/email.js";
import { findMember } from "../../workspaces/members/memberships.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { testOnHistory } from "./history.js";
import { namingOf } from "./run.js";
import { type Naming, titleOf } from "./sentences.js";
import type { Reads } from "../reading/in-process.js";
import type { Calls } from "../manage/calls.js";
import { requireRoom } from "../manage/room.js";

export function alertRoutes(service: Service, calls: Calls<Workspace>, reads: Reads): void {
  const { config, postgres, vault } = service;
  const path = "/alerts";
  const right = "manage";

  calls.list(path, "look", async (workspace, page) => {
    const alerts = await listAlerts(postgres, workspace.id, page);
    const problems = await messageProblems(postgres, alerts.map(idOf));
    const naming = await namingOf(service, workspace);
    return alerts.map((alert) => shown(alert, naming, problems.get(alert.id)));
  });

  calls.answer("POST", `${path}/test`, { right: "look" }, async (ctx, workspace) => {
    const { rule } = readJson(ctx, testedAlert);
    return { status: "success", data: await tested(ctx, workspace, rule) };
  });

  const created = { right: "assist", action: "alert.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, workspace) => {
    const { rule, channels, quiet = null } = readJson(ctx, newAlert);
    await checkChannels(workspace, channels);
    // A figure that the interface refuses cannot be watched.
    await tested(ctx, workspace, rule);
    const given = { workspace: workspace.id, rule, channels, quiet, origin: originOf(ctx.req) };
    const made = await postgres.transaction(async (sql) => {
      await requireRoom(sql, "alerts", workspace.id, limits.alertsMax);
      return insertAlert(sql, given, new Date());
    });
    alertNews.announce();
    return shown(made, await namingOf(service, workspace));
  });

  const one = `${path}/:alert`;
  calls.write("PATCH", one, { right, action: "alert.changed" }, async (ctx, workspace) => {
    const found = await alertOf(ctx, workspace);
    const { rule, channels, quiet, paused } = readJson(ctx, changedAlert);
    if (channels !== undefined) await checkChannels(workspace, channels);
    if (rule !== undefined) await tested(ctx, workspace, rule);
    const change = {
      ...(rule === undefined ? {} : { rule }),
      ...(channels === undefined ? {} : { channels }),
      ...(quiet === undefined ? {} : { quiet }),
      ...(paused === undefined ? {} : { paused }),
    };
    const changed = await changeAlert(postgres, found, change, new Date());
    alertNews.announce();
    return shown(changed, await namingOf(service, workspace));
  });

  calls.write("DELETE", one, { right, action: "alert.deleted" }, async (ctx, workspace) => {
    const found = await alertOf(ctx, workspace);
    await deleteAlert(postgres, found.id);
    return shown(found, await namingOf(service, workspace));
  });

  calls.list(`${path}/firings`, "look", async ({ id }, page) => {
    const rows = await listFirings(postgres, id, page);
    const messages = await messagesOf(postgres, rows.map(idOf));
    return rows.map((row) => firingView(row, messages));
  });

  async function tested(ctx: Context, workspace: Workspace, rule: AlertRule) {
    const reading = { service, reads, workspace, origin: originOf(ctx.req) };
    const naming = await namingOf(service, workspace);
    if ("integration" in rule && rule.integration && !naming.names.has(rule.integration)) {
      const message = "There is no such integration in the live environment.";
      throw unprocessable("integration_unknown", message, "rule");
    }
    return testOnHistory(reading, rule, naming, Date.now());
  }

  /** @throws ApiError 422 for a receiver that no message could reach */
  async function checkChannels({ id }: Workspace, channels: readonly AlertChannel[]) {
    for (const channel of channels) {
      if (channel.by === "chat") {
        if ((await chatChannelOf(postgres, id)) !== null) continue;
        const message = "The workspace has no chat channel yet.";
        throw unprocessable("chat_not_set_up", message, "channels");
      }
      const missing = missingMailSettings(config);
      if (missing.length > 0) {
        const message = `No e-mail can be sent: ${missing.join(" and ")} must be set.`;
        throw unprocessable("email_not_set_up", message, "channels");
      }
      if ((await findMember(postgres, vault, id, channel.member))?.email) continue;
      const message = "Only members who signed in with a verified e-mail address get alerts.";
      throw unprocessable("email_unknown", message, "channels");
    }
  }

  /** @throws ApiError 404 */
  async function alertOf(ctx: Context, { id }: Workspace): Promise<Alert> {
    const found = await findAlert(postgres, id, String(ctx.params.alert));
    if (found === null) throw notFound("alert_unknown", "There is no such alert.");
    return found;
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
