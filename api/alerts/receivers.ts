/** Whether messages of a workspace could reach anybody, asked before one is promised. */
import type { Config } from "../../config.js";
import { unprocessable } from "../../schemas/http/errors.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { chatChannelOf } from "../../workspaces/channels/chat.js";
import { missingMailSettings } from "../../workspaces/channels/email.js";
import { whyNobodyTakes } from "../../workspaces/webhooks/endpoints.js";

/** @throws ApiError 422 */
export async function requireChat(postgres: Postgres, id: string, param?: string): Promise<void> {
  if ((await chatChannelOf(postgres, id)) !== null) return;
  throw unprocessable("chat_not_set_up", "The workspace has no chat channel yet.", param);
}

/** @throws ApiError 422 */
export async function requireWebhook(postgres: Postgres, id: string): Promise<void> {
  const problem = await whyNobodyTakes(postgres, id, "digest.ready");
  if (problem !== null) throw unprocessable("webhook_not_set_up", problem);
}

/** @throws ApiError 422 */
export function requireMail(config: Config, param?: string): void {
  const missing = missingMailSettings(config);
  if (missing.length === 0) return;
  const message = `No e-mail can be sent: ${missing.join(" and ")} must be set.`;
  throw unprocessable("email_not_set_up", message, param);
}
