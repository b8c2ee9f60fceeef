/** `…/digests`: a member's own by e-mail, the workspace's to its chat or webhooks, a preview. */
import type { z } from "zod";
import { originOf } from "../../http/cookies.js";
import { memberOf } from "../../http/state.js";
import {
  digest,
  digestPreview,
  digests,
  newDigest,
  previewQuery,
} from "../../schemas/http/outbound/digests.js";
import { notFound, unavailable, unprocessable } from "../../schemas/http/errors.js";
import { missingMailSettings } from "../../workspaces/channels/email.js";
import {
  lastPeriodEnd,
  type Digest,
  type DigestTo,
  chooseDigest,
  digestOf,
  endDigest,
} from "../../workspaces/digests.js";
import { findMember } from "../../workspaces/members/memberships.js";
import { PeriodIncomplete, readFigures } from "./figures.js";
import { digestMessage, pictureUrl } from "./message.js";
import { type Call, ofWorkspace } from "../manage/calls.js";
import { requireChat, requireMail, requireWebhook } from "../alerts/receivers.js";

const path = "/digests";
const email = `${path}/email`;
/** The workspace's own. */
const shared = {
  chat: { member: null, to_webhooks: false },
  webhook: { member: null, to_webhooks: true },
} as const;
const required = { chat: requireChat, webhook: requireWebhook };

export const digestRoutes = [
  ofWorkspace.get(path, "One's own digest, and what it lacks", {
    right: "look",
    answer: digests,
    async run(call) {
      const { config, postgres, of } = call;
      const found = async (to: DigestTo | null) => {
        const one = to && (await digestOf(postgres, of.id, to));
        return one && shown(one);
      };
      return {
        missing_settings: missingMailSettings(config),
        email: await found(ownOf(call)),
        chat: await found(shared.chat),
        webhook: await found(shared.webhook),
      };
    },
  }),
  ofWorkspace.post(email, "Get the figures of every day, week or month by e-mail", {
    right: "look",
    action: "digest.chosen",
    body: newDigest,
    answer: digest,
    status: 200,
    async run(call) {
      const { config, postgres, vault, ctx, of, body } = call;
      requireMail(config);
      const member = memberOf(ctx);
      const found = member === null ? null : await findMember(postgres, vault, of.id, member);
      if (member === null || !found?.email) {
        const message = "Only members who signed in with a verified e-mail address get digests.";
        throw unprocessable("email_unknown", message);
      }
      return choose(call, body, { member, to_webhooks: false });
    },
  }),
  ofWorkspace.delete(email, "Get no more of them", {
    right: "look",
    action: "digest.ended",
    answer: digest,
    run: (call) => end(call, ownOf(call)),
  }),
  ...sharedRoutes("chat", "to the chat channel"),
  ...sharedRoutes("webhook", "to the webhooks that take `digest.ready`"),
  ofWorkspace.get(`${path}/preview`, "A digest of the last whole period", {
    right: "look",
    query: previewQuery,
    answer: digestPreview,
    async run(call) {
      const { frequency = "weekly", segment = null } = call.query;
      try {
        const figures = await figuresOf(call, frequency, segment);
        const { subject, text, html, picture } = digestMessage(figures);
        return { subject, text, html, picture: pictureUrl(picture) };
      } catch (error) {
        if (!(error instanceof PeriodIncomplete)) throw error;
        const message = "Not everything of the period is booked yet; call again.";
        throw unavailable("period_incomplete", message);
      }
    },
  }),
];

function sharedRoutes(channel: keyof typeof shared, where: string) {
  const to = shared[channel];
  return [
    ofWorkspace.post(`${path}/${channel}`, `Send the figures of a day, week or month ${where}`, {
      right: "manage",
      action: "digest.chosen",
      body: newDigest,
      answer: digest,
      status: 200,
      async run(call) {
        await required[channel](call.postgres, call.of.id);
        return choose(call, call.body, to);
      },
    }),
    ofWorkspace.delete(`${path}/${channel}`, `Send no more of them ${where}`, {
      right: "manage",
      action: "digest.ended",
      answer: digest,
      run: (call) => end(call, to),
    }),
  ];
}

/** Null: who calls is no member. */
function ownOf({ ctx }: Call): DigestTo | null {
  const member = memberOf(ctx);
  return member === null ? null : { member, to_webhooks: false };
}

/** @throws ApiError 422 for a segment that is not there, or that no digest can be of */
async function choose(call: Call, body: z.output<typeof newDigest>, to: DigestTo) {
  const { frequency, segment = null } = body;
  if (segment !== null) {
    await figuresOf(call, frequency, segment).catch((error: unknown) => {
      if (!(error instanceof PeriodIncomplete)) throw error;
    });
  }
  const { postgres, ctx, of } = call;
  const given = { workspace: of.id, ...to, frequency, segment, origin: originOf(ctx.req) };
  return shown(await chooseDigest(postgres, given, new Date()));
}

function figuresOf(call: Call, frequency: Digest["frequency"], segment: string | null) {
  const period = { frequency, end: lastPeriodEnd(frequency, Date.now()) };
  const wanted = { ...period, segment, origin: originOf(call.ctx.req) };
  return readFigures(call, call.reads, call.of, wanted);
}

/** @throws ApiError 404 */
async function end({ postgres, of }: Call, to: DigestTo | null) {
  const found = to && (await digestOf(postgres, of.id, to));
  if (found === null) throw notFound("digest_unknown", "There is no such digest.");
  await endDigest(postgres, found.id);
  return shown(found);
}

function shown({ id, frequency, segment, due_at: next_at, sent_at, problem, created_at }: Digest) {
  return { id, frequency, segment, next_at, sent_at, problem, created_at };
}
