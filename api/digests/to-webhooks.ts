/** A digest as an event to the workspace's webhooks. */
import { utcDay } from "../../schemas/money/rates.js";
import type { Service } from "../../service.js";
import { NotDelivered } from "../../workspaces/channels/message.js";
import type { Digest } from "../../workspaces/digests.js";
import { announce } from "../../workspaces/webhooks/announce.js";
import { whyNobodyTakes } from "../../workspaces/webhooks/endpoints.js";
import type { FrozenFigures } from "./figures.js";
import { digestMessage, pictureUrl } from "./message.js";

const type = "digest.ready";

/** Sent again, the period has the same id, and nobody gets it twice. */
export async function announceDigest(
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
