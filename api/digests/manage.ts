/** `…/digests`: a member's own by e-mail, the workspace's to its chat channel, and a preview. */
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
import { lastPeriodEnd } from "../../workspaces/digest-periods.js";
import { type Digest, chooseDigest, digestOf, endDigest } from "../../workspaces/digests.js";
import { findMember } from "../../workspaces/members/memberships.js";
import { PeriodIncomplete, readFigures } from "./figures.js";
import { digestMessage } from "./message.js";
import { type Call, ofWorkspace } from "../manage/calls.js";
import { requireChat, requireMail } from "../alerts/receivers.js";

const path = "/digests";
const email = `${path}/email`;
const inChat = `${path}/chat`;

export const digestRoutes = [
  ofWorkspace.get(path, "One's own digest, and what it lacks", {
    right: "look",
    answer: digests,
    async run(call) {
      const [own, ofAll] = [await ownDigest(call), await digestOf(call.postgres, call.of.id, null)];
      return {
        missing_settings: missingMailSettings(call.config),
        email: own && shown(own),
        chat: ofAll && shown(ofAll),
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
      return choose(call, body, member);
    },
  }),
  ofWorkspace.delete(email, "Get no more of them", {
    right: "look",
    action: "digest.ended",
    answer: digest,
    run: async (call) => end(call, await ownDigest(call)),
  }),
  ofWorkspace.post(inChat, "Send the figures of every day, week or month to the chat channel", {
    right: "manage",
    action: "digest.chosen",
    body: newDigest,
    answer: digest,
    status: 200,
    async run(call) {
      await requireChat(call.postgres, call.of.id);
      return choose(call, call.body, null);
    },
  }),
  ofWorkspace.delete(inChat, "Send no more of them there", {
    right: "manage",
    action: "digest.ended",
    answer: digest,
    run: async (call) => end(call, await digestOf(call.postgres, call.of.id, null)),
  }),
  ofWorkspace.get(`${path}/preview`, "A digest of the last whole period", {
    right: "look",
    query: previewQuery,
    answer: digestPreview,
    async run(call) {
      const { frequency = "weekly", segment = null } = call.query;
      try {
        const figures = await figuresOf(call, frequency, segment);
        const { subject, text, html, picture } = digestMessage(figures);
        const url = `data:image/png;base64,${picture.png.toString("base64")}`;
        return { subject, text, html, picture: url };
      } catch (error) {
        if (!(error instanceof PeriodIncomplete)) throw error;
        const message = "Not everything of the period is booked yet; call again.";
        throw unavailable("period_incomplete", message);
      }
    },
  }),
];

async function ownDigest({ postgres, ctx, of }: Call): Promise<Digest | null> {
  const member = memberOf(ctx);
  return member === null ? null : digestOf(postgres, of.id, member);
}

/**
 * @param member null: for all, in the chat channel
 * @throws ApiError 422 for a segment that is not there, or that no digest can be of
 */
async function choose(call: Call, body: z.output<typeof newDigest>, member: string | null) {
  const { frequency, segment = null } = body;
  if (segment !== null) {
    await figuresOf(call, frequency, segment).catch((error: unknown) => {
      if (!(error instanceof PeriodIncomplete)) throw error;
    });
  }
  const { postgres, ctx, of } = call;
  const given = { workspace: of.id, member, frequency, segment, origin: originOf(ctx.req) };
  return shown(await chooseDigest(postgres, given, new Date()));
}

function figuresOf(call: Call, frequency: Digest["frequency"], segment: string | null) {
  const period = { frequency, end: lastPeriodEnd(frequency, Date.now()) };
  const wanted = { ...period, segment, origin: originOf(call.ctx.req) };
  return readFigures(call, call.reads, call.of, wanted);
}

/** @throws ApiError 404 */
async function end({ postgres }: Call, found: Digest | null) {
  if (found === null) throw notFound("digest_unknown", "There is no such digest.");
  await endDigest(postgres, found.id);
  return shown(found);
}

function shown({ id, frequency, segment, due_at: next_at, sent_at, problem, created_at }: Digest) {
  return { id, frequency, segment, next_at, sent_at, problem, created_at };
}
