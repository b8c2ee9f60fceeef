/**
 * Sends the digests that are due. Every process of the role api looks for them; a claim decides
 * which one sends a digest (workspaces/digests.ts).
 */
import { Lookout } from "../../runtime/lookout.js";
import { ApiError } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { chatUrlOf, sendChat } from "../../workspaces/channels/chat.js";
import { sendEmail } from "../../workspaces/channels/email.js";
import { NotDelivered } from "../../workspaces/channels/message.js";
import {
  claimDigest,
  type Digest,
  digestNews,
  dueDigests,
  noteFailed,
  noteSent,
} from "../../workspaces/digests.js";
import { findMember } from "../../workspaces/members/memberships.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import type { Reads } from "../reading/in-process.js";
import { type FrozenFigures, PeriodIncomplete, readFigures } from "./figures.js";
import { digestMessage, pictureUrl } from "./message.js";
import type { Unsubscribing } from "./unsubscribe.js";
import { utcDay } from "../../schemas/money/rates.js";
import { announce } from "../../workspaces/webhooks/announce.js";
import { whyNobodyTakes } from "../../workspaces/webhooks/endpoints.js";

interface Sending extends Service {
  readonly reads: Reads;
  readonly unsubscribing: Unsubscribing;
}

const lookEveryMs = 1_000;
const calmLookEveryMs = 30_000;

export function startDigests(service: Service, reads: Reads, unsubscribing: Unsubscribing): void {
  const lookout = new Lookout(digestNews, { everyMs: lookEveryMs, calmEveryMs: calmLookEveryMs });
  const sending = { ...service, reads, unsubscribing };
  service.releases.run("digests", (stop) =>
    lookout.watch(
      stop,
      async () => {
        const due = await dueDigests(service.postgres, new Date());
        await Promise.all(due.map((one) => sendOne(sending, one, stop)));
        return false;
      },
      (err) => service.logger.error({ err }, "digests could not be sent; again soon"),
    ),
  );
}

async function sendOne(service: Sending, due: Digest, stopping: AbortSignal): Promise<void> {
  const { logger, postgres } = service;
  const claimed = await claimDigest(postgres, due, new Date());
  if (claimed === null) return;
  try {
    await deliver(service, claimed, stopping);
  } catch (err) {
    const { id, tries } = claimed;
    logger.warn({ err, digest: id, tries }, "a digest could not be sent");
    await noteFailed(postgres, claimed, problemOf(err), new Date());
    return;
  }
  await noteSent(postgres, claimed, new Date());
}

async function deliver(service: Sending, claimed: Digest, stopping: AbortSignal): Promise<void> {
  const { config, postgres, reads, unsubscribing, vault } = service;
  const { member, frequency, origin, segment, period_end: end } = claimed;
  const workspace = await findWorkspace(postgres, claimed.workspace);
  if (workspace === null) throw new Error(`the workspace of ${claimed.id} is gone`);
  const period = { frequency, end: end.getTime(), origin, segment };
  const figures = await readFigures(service, reads, workspace, period);
  if (claimed.to_webhooks) return announceDigest(service, claimed, figures);
  if (member === null) {
    const url = await chatUrlOf(postgres, vault, workspace.id);
    if (url === null) throw new NotDelivered("The workspace has no chat channel any more.");
    return sendChat(config, url, digestMessage(figures), stopping);
  }
  const found = await findMember(postgres, vault, workspace.id, member);
  const email = found?.email;
  if (!email) throw new NotDelivered("The member's e-mail address is not known.");
  await sendEmail(config, email, digestMessage(figures, unsubscribing.urlOf(claimed)));
}

function problemOf(error: unknown): string {
  if (error instanceof NotDelivered) return error.message;
  if (error instanceof ApiError) return error.message;
  if (error instanceof PeriodIncomplete) return "Not everything of the period is booked yet.";
  return "The figures could not be read; the log of the service has the reason.";
}

const type = "digest.ready";

/** Sent again, the period has the same id, and nobody gets it twice. */
async function announceDigest(
  service: Pick<Service, "config" | "logger" | "postgres" | "vault">,
  { id: digest, workspace, frequency, segment, period_end: end }: Digest,
  figures: FrozenFigures,
): Promise<void> {
  const problem = await whyNobodyTakes(service.postgres, workspace, type);
  if (problem !== null) throw new NotDelivered(problem);
  const { mrr, whatChanged, revenue, links, days, at, knownAt } = figures;
  const { subject: title, text, picture } = digestMessage(figures);
  const { totals, compare } = revenue;
  await announce(service, {
    workspace,
    environment: "live",
    type,
    id: `${digest} ${end.getTime()}`,
    subject: {},
    at: new Date(),
    data: {
      digest,
      frequency,
      segment,
      from: days.first,
      to: utcDay(end.getTime()),
      at,
      known_at: knownAt,
      title,
      text,
      picture: pictureUrl(picture),
      currency: mrr.currency,
      mrr: { before: whatChanged.from.mrr, now: mrr.mrr },
      revenue: { before: compare?.revenue ?? null, now: totals.revenue },
      sales: { before: compare?.sales ?? null, now: totals.sales },
      links: { mrr: links.mrr, what_changed: links.whatChanged, revenue: links.revenue },
    },
  });
}
