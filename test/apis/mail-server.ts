/** A real mail server on this machine: it keeps what it takes, and refuses when told to. */
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { testReleases } from "../harness/stores.js";

interface Mail {
  readonly to: readonly string[];
  /** The whole mail, readable. */
  readonly text: string;
}

interface MailServer {
  readonly url: string;
  readonly mails: Mail[];
  /** How many began to send one, the refused included. */
  asked: number;
  /** While it is set, mails are refused with this code. */
  refusal: number | null;
}

export async function openMailServer(): Promise<MailServer> {
  const smtp = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onData(stream, { envelope }, answer) {
      const to = envelope.rcptTo.map(({ address }) => address);
      void take(stream, to).then(answer, answer);
    },
  });
  const listening = smtp.listen(0, "127.0.0.1");
  await once(listening, "listening");
  testReleases.push("mail server", () => new Promise((closed) => smtp.close(closed)));
  const address = listening.address();
  if (address === null || typeof address === "string") throw new Error("not on a port");
  const server: MailServer = {
    url: `smtp://127.0.0.1:${address.port}`,
    mails: [],
    asked: 0,
    refusal: null,
  };
  return server;

  /** @returns why it is refused */
  async function take(stream: Readable, to: readonly string[]): Promise<Error | null> {
    const raw = await text(stream);
    server.asked += 1;
    if (server.refusal !== null) {
      return Object.assign(new Error("not now"), { responseCode: server.refusal });
    }
    server.mails.push({ to, text: plain(raw) });
    return null;
  }
}

/** Folded lines joined and characters decoded: of the words in the headers, and of the text. */
function plain(raw: string): string {
  const [head = "", ...parts] = raw.split("\r\n\r\n");
  const words = decoded(head.replaceAll(/\r\n[ \t]/g, " "))
    .replaceAll("?= =?UTF-8?Q?", "")
    .replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, word: string) => word.replaceAll("_", " "));
  return `${words}\n\n${decoded(parts.join("\n\n").replaceAll(/=\r\n/g, ""))}`;
}

function decoded(quoted: string): string {
  return quoted.replaceAll(/(?:=[0-9A-F]{2})+/g, (hex) =>
    Buffer.from(hex.replaceAll("=", ""), "hex").toString(),
  );
}
