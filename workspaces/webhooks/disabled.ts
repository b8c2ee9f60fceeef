/** Reports that an endpoint was disabled, and why: in the activity log, and to owners by e-mail. */
import { limits } from "../../config.js";
import type { Service } from "../../service.js";
import { missingMailSettings, sendEmail } from "../channels/email.js";
import { recordActivity } from "../members/activity.js";
import { listMembers } from "../members/memberships.js";
import type { DisabledBy } from "./endpoints.js";

type Needs = Pick<Service, "config" | "logger" | "postgres" | "vault">;

const why: Readonly<Record<DisabledBy, string>> = {
  member: "a member disabled it",
  failing: `it took nothing for ${limits.webhookRetriesForMs / (24 * 60 * 60 * 1000)} days`,
  gone: "it answered 410, that it is gone",
  too_many: `more than ${limits.webhookPendingMax} deliveries waited for it`,
};

export async function reportDisabled(
  service: Needs,
  { workspace, endpoint, url }: Readonly<Record<"workspace" | "endpoint" | "url", string>>,
  by: DisabledBy,
  now: Date,
): Promise<void> {
  const { config, logger, postgres, vault } = service;
  logger.warn({ endpoint, by }, "a webhook endpoint was disabled");
  const action = "webhook.disabled";
  const done = { workspace, actor: "webhooks", action, object: endpoint, requestId: endpoint };
  await recordActivity(postgres, done, now);
  if (missingMailSettings(config).length > 0) return;
  const page = { rowsMax: membersAskedMax, after: null };
  const owners = (await listMembers(postgres, vault, workspace, page)).filter(
    ({ role, email }) => role === "owner" && email !== null,
  );
  const { host } = new URL(url);
  const text =
    `The webhook endpoint at ${host} was disabled: ${why[by]}. What waits for it is kept. ` +
    "Enable it in the settings (Webhooks) when it works again.";
  for (const { email } of owners) {
    const message = { subject: `Webhooks to ${host} were disabled`, text, html: `<p>${text}</p>` };
    await sendEmail(config, email ?? "", message).catch((err: unknown) => {
      logger.warn({ err, endpoint }, "an owner could not be reached by e-mail");
    });
  }
}

/** The newest; a workspace with more has its activity log. */
const membersAskedMax = 200;
