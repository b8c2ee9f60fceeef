/** `…/chat`: the channel of a workspace's chat program, for alerts and digests. */
import { chatChannel, chatChannels, newChatChannel } from "../../schemas/http/outbound/alerts.js";
import { notFound, unprocessable } from "../../schemas/http/errors.js";
import {
  chatChannelOf,
  deleteChatChannel,
  setChatChannel,
  sendChat,
} from "../../workspaces/channels/chat.js";
import { NotDelivered } from "../../workspaces/channels/message.js";
import { addressProblem } from "../../workspaces/channels/outbound.js";
import { ofWorkspace } from "./calls.js";

const path = "/chat";

export const chatRoutes = [
  ofWorkspace.get(path, "The channel of a chat program", {
    right: "look",
    answer: chatChannels,
    run: async ({ postgres, of }) => ({ chat: await chatChannelOf(postgres, of.id) }),
  }),
  ofWorkspace.post(path, "Connect a channel by its incoming-webhook URL; a first message is sent", {
    right: "manage",
    action: "chat.connected",
    body: newChatChannel,
    answer: chatChannel,
    status: 200,
    async run({ config, postgres, vault, of: { id, name }, body: { url } }) {
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
    },
  }),
  ofWorkspace.delete(path, "Disconnect the channel", {
    right: "manage",
    action: "chat.removed",
    answer: chatChannel,
    async run({ postgres, of: { id } }) {
      const found = await chatChannelOf(postgres, id);
      if (found === null) throw notFound("chat_unknown", "There is no chat channel.");
      await deleteChatChannel(postgres, id);
      return found;
    },
  }),
];
