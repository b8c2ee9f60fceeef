/**
 * Somebody's receiver of webhooks, on this machine: it checks every call by the library that the
 * standard's authors give receivers, and answers as it is told.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { serveHttp } from "./loopback.js";

export interface Call {
  readonly id: string;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- asserted on, not relied on
  readonly data: any;
  readonly body: string;
  /** How many signatures it had. */
  readonly signatures: number;
  /** By the newest secret; in the order they were given. */
  readonly verifiedBy: readonly boolean[];
}

export interface Receiver {
  readonly url: string;
  /** In the order they came; those that were refused, too. */
  readonly calls: Call[];
  /** Those that were answered with 2xx. */
  readonly taken: Call[];
  secrets: string[];
  /** Left out: 204 at once. */
  answer: ((call: Call, response: ServerResponse) => void | Promise<void>) | null;
}

export async function openReceiver(name: string): Promise<Receiver> {
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([header, value]) => [header, String(value)]),
    );
    const { type, data } = JSON.parse(body);
    const call: Call = {
      id: headers["webhook-id"] ?? "",
      type,
      data,
      body,
      signatures: headers["webhook-signature"]?.split(" ").length ?? 0,
      verifiedBy: receiver.secrets.map((secret) => isVerified(secret, body, headers)),
    };
    receiver.calls.push(call);
    if (receiver.answer === null) response.writeHead(204).end();
    else await receiver.answer(call, response);
    if (response.writableEnded && response.statusCode < 300) receiver.taken.push(call);
  };
  const url = await serveHttp(name, (request, response) => void take(request, response));
  const receiver: Receiver = { url, calls: [], taken: [], secrets: [], answer: null };
  return receiver;
}

function isVerified(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
