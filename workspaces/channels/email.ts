/** E-mail over SMTP (`SMTP_URL`, `MAIL_FROM`). */
import { type Config, limits } from "../../config.js";
import { type Message, NotDelivered } from "./message.js";

type MailSettings = Pick<Config, "SMTP_URL" | "MAIL_FROM">;

export function missingMailSettings(config: MailSettings): string[] {
  return (["SMTP_URL", "MAIL_FROM"] as const).filter((name) => config[name] === undefined);
}

/** @throws NotDelivered unless the server accepted it */
export async function sendEmail(
  config: MailSettings,
  to: string,
  { subject, text, html, picture, unsubscribeUrl }: Message,
): Promise<void> {
  const { SMTP_URL: url, MAIL_FROM: from } = config;
  if (url === undefined || from === undefined) {
    throw new NotDelivered(`${missingMailSettings(config).join(" and ")} must be set.`);
  }
  // Loaded on first use: most installations never need it.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    url,
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: limits.deliveryMsMax,
    greetingTimeout: limits.deliveryMsMax,
    socketTimeout: limits.deliveryMsMax,
  });
  const headers =
    unsubscribeUrl === undefined
      ? {}
      : {
          "List-Unsubscribe": `<${unsubscribeUrl}>`,
          "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        };
  try {
    // As an object, because text that looks like a list of addresses would be read as one.
    const address = { name: "", address: to };
    const signal = AbortSignal.timeout(limits.deliveryMsMax);
    const attachments =
      picture === undefined
        ? []
        : [{ cid: picture.cid, filename: `${picture.cid}.png`, content: picture.png }];
    const mail = { from, to: address, subject, text, html, attachments, headers };
    await transport.sendMail({ ...mail, signal });
  } catch (error) {
    throw new NotDelivered(problemOf(error), { cause: error });
  } finally {
    transport.close();
  }
}

/** The server's own words may contain addresses, so they go to the log only. */
function problemOf(error: unknown): string {
  const { responseCode } = Object(error);
  return typeof responseCode === "number"
    ? `The mail server refused it with ${responseCode}.`
    : "The mail server could not be reached, or was too slow.";
}
