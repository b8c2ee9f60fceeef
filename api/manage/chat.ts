/** `…/chat`: the channel of a workspace's chat program, for alerts and digests. */
import { readJson } from "../../http/body.js";
import { newChatChannel } from "../../schemas/http/outbound/alerts.js";
import { notFound, unprocessable } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import {
  chatChannelOf,
  deleteChatChannel,
  setChatChannel,
} from "../../workspaces/channels/chat-channels.js";
import { sendChat } from "../../workspaces/channels/chat.js";
import { NotDelivered } from "../../workspaces/channels/message.js";
import { addressProblem } from "../../workspaces/channels/outbound.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";

export function chatRoutes(service: Service, calls: Calls<Workspace>): void {
  const { config, postgres, vault } = service;
  const path = "/chat";

  calls.get(path, "look", async (_ctx, { id }) => ({ chat: await chatChannelOf(postgres, id) }));

  const connected = { right: "manage", action: "chat.connected" } as const;
  calls.write("POST", path, connected, async (ctx, { id, name }) => {
    const { url } = readJson(ctx, newChatChannel);
    const problem = addressProblem(config, url);
    if (problem !== null) throw unprocessable("url_refused", `url ${problem}.`, "url");
    const text = "Alerts and digests of this workspace may be sent here.";
    try {
      // Tried at once, so that the member who entered a wrong URL sees it.
      await sendChat(config, url, { subject: name, text }, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof NotDelivered)) throw error;
      throw unprocessable("chat_not_delivered", `No message got there: ${error.message}`, "url");
    }
    return setChatChannel(postgres, vault, id, url, new Date());
  });

  const removed = { right: "manage", action: "chat.removed" } as const;
  calls.write("DELETE", path, removed, async (_ctx, { id }) => {
    const found = await chatChannelOf(postgres, id);
    if (found === null) throw notFound("chat_unknown", "There is no chat channel.");
    await deleteChatChannel(postgres, id);
    return found;
  });
}
