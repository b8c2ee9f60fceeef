/** `…/digests`: a member's own by e-mail, the workspace's to its chat channel, and a preview. */
import type { Context } from "koa";
import { readJson } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import { readQuery } from "../../http/query.js";
import { memberOf } from "../../http/state.js";
import { newDigest, previewQuery } from "../../schemas/http/outbound/digests.js";
import { notFound, unavailable, unprocessable } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { chatChannelOf } from "../../workspaces/channels/chat-channels.js";
import { missingMailSettings } from "../../workspaces/channels/email.js";
import { lastPeriodEnd } from "../../workspaces/digest-periods.js";
import { type Digest, chooseDigest, digestOf, endDigest } from "../../workspaces/digests.js";
import { findMember } from "../../workspaces/members/memberships.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { PeriodIncomplete, readFigures } from "./figures.js";
import { digestMessage } from "./message.js";
import type { Reads } from "../reading/in-process.js";
import type { Calls } from "../manage/calls.js";

export function digestRoutes(service: Service, calls: Calls<Workspace>, reads: Reads): void {
  const { config, postgres, vault } = service;
  const path = "/digests";
  const email = `${path}/email`;

  calls.get(path, "look", async (ctx, { id }) => {
    const member = memberOf(ctx);
    const own = member === null ? null : await digestOf(postgres, id, member);
    const ofAll = await digestOf(postgres, id, null);
    return {
      missing_settings: missingMailSettings(config),
      email: own && shown(own),
      chat: ofAll && shown(ofAll),
    };
  });

  const chosen = { right: "look", action: "digest.chosen" } as const;
  calls.write("POST", email, chosen, async (ctx, of) => {
    const { id: workspace } = of;
    const { frequency, segment = null } = readJson(ctx, newDigest);
    const missing = missingMailSettings(config);
    if (missing.length > 0) {
      const message = `No e-mail can be sent: ${missing.join(" and ")} must be set.`;
      throw unprocessable("email_not_set_up", message);
    }
    const member = memberOf(ctx);
    const found = member === null ? null : await findMember(postgres, vault, workspace, member);
    if (member === null || !found?.email) {
      const message = "Only members who signed in with a verified e-mail address get digests.";
      throw unprocessable("email_unknown", message);
    }
    await checkSegment(ctx, of, frequency, segment);
    const given = { workspace, member, frequency, segment, origin: originOf(ctx.req) };
    return shown(await chooseDigest(postgres, given, new Date()));
  });

  const ended = { right: "look", action: "digest.ended" } as const;
  calls.write("DELETE", email, ended, async (ctx, { id }) => {
    const member = memberOf(ctx);
    return end(member === null ? null : await digestOf(postgres, id, member));
  });

  const inChat = `${path}/chat`;
  const chosenForAll = { right: "manage", action: "digest.chosen" } as const;
  calls.write("POST", inChat, chosenForAll, async (ctx, of) => {
    const { id: workspace } = of;
    const { frequency, segment = null } = readJson(ctx, newDigest);
    if ((await chatChannelOf(postgres, workspace)) === null) {
      throw unprocessable("chat_not_set_up", "The workspace has no chat channel yet.");
    }
    await checkSegment(ctx, of, frequency, segment);
    const given = { workspace, member: null, frequency, segment, origin: originOf(ctx.req) };
    return shown(await chooseDigest(postgres, given, new Date()));
  });

  const endedForAll = { right: "manage", action: "digest.ended" } as const;
  calls.write("DELETE", inChat, endedForAll, async (_ctx, { id }) =>
    end(await digestOf(postgres, id, null)),
  );

  calls.answer("GET", `${path}/preview`, { right: "look" }, async (ctx, workspace) => {
    const { frequency = "weekly", segment = null } = readQuery(ctx, previewQuery);
    return { status: "success", data: await preview(ctx, workspace, frequency, segment) };
  });

  /** @throws ApiError 422 for a segment that is not there, or that no digest can be of */
  async function checkSegment(
    ctx: Context,
    workspace: Workspace,
    frequency: Digest["frequency"],
    segment: string | null,
  ): Promise<void> {
    if (segment === null) return;
    try {
      await figuresOf(ctx, workspace, frequency, segment);
    } catch (error) {
      if (!(error instanceof PeriodIncomplete)) throw error;
    }
  }

  function figuresOf(
    ctx: Context,
    workspace: Workspace,
    frequency: Digest["frequency"],
    segment: string | null,
  ) {
    return readFigures(service, reads, workspace, {
      frequency,
      end: lastPeriodEnd(frequency, Date.now()),
      segment,
      origin: originOf(ctx.req),
    });
  }

  async function preview(
    ctx: Context,
    workspace: Workspace,
    frequency: Digest["frequency"],
    segment: string | null,
  ) {
    try {
      const figures = await figuresOf(ctx, workspace, frequency, segment);
      const { subject, text, html, picture } = digestMessage(figures);
      const url = `data:image/png;base64,${picture.png.toString("base64")}`;
      return { subject, text, html, picture: url };
    } catch (error) {
      if (!(error instanceof PeriodIncomplete)) throw error;
      const message = "Not everything of the period is booked yet; call again.";
      throw unavailable("period_incomplete", message);
    }
  }

  /** @throws ApiError 404 */
  async function end(found: Digest | null) {
    if (found === null) throw notFound("digest_unknown", "There is no such digest.");
    await endDigest(postgres, found.id);
    return shown(found);
  }
}

function shown({ id, frequency, segment, due_at: next_at, sent_at, problem, created_at }: Digest) {
  return { id, frequency, segment, next_at, sent_at, problem, created_at };
}
