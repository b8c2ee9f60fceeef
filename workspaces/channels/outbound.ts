/**
 * Calls addresses that members typed in: their webhooks and chat channels. Nobody may reach private
 * machines this way, so names that lead to private addresses are refused, and redirects are not
 * followed. The address is checked again when the connection is made.
 */
import { lookup } from "node:dns";
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { type Config, limits } from "../../config.js";
import { withDeadline } from "../../runtime/deadline.js";
import { NotDelivered } from "./message.js";

type OutboundSettings = Pick<Config, "OUTBOUND_PRIVATE_ADDRESSES">;

/** All other ranges are reserved, or belong to one machine or network. */
const publicRanges: ReadonlySet<string> = new Set(["unicast"]);
/** Never 169.254.0.0/16 and fe80::/10: clouds keep keys there. */
const privateRanges: ReadonlySet<string> = new Set([
  ...publicRanges,
  "private",
  "loopback",
  "uniqueLocal",
  "carrierGradeNat",
]);

export class CallFailed extends NotDelivered {
  constructor(
    message: string,
    /** Of the answer, if there was one. */
    readonly status: number | null = null,
    /** How long the receiver asks us to wait. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** @returns a sentence for whoever typed it in; null when it may be called */
export function addressProblem(config: OutboundSettings, text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return "must be a URL as https://host/path";
  const mayBePrivate = config.OUTBOUND_PRIVATE_ADDRESSES === "on";
  const isHttp = url.protocol === "http:" && mayBePrivate;
  if (url.protocol !== "https:" && !isHttp) return "must begin with https://";
  if (url.username !== "" || url.password !== "") return "must not have a user or a password";
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(config, host)) return `must not be ${privateText}`;
  return null;
}

/** @throws CallFailed unless the answer is a 2xx */
export async function post(
  config: OutboundSettings,
  text: string,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: string },
  stopping: AbortSignal,
): Promise<number> {
  const problem = addressProblem(config, text);
  if (problem !== null) throw new CallFailed(`The address ${problem}.`);
  const { status, retryAfterMs } = await withDeadline(limits.deliveryMsMax, stopping, (signal) =>
    send(config, new URL(text), { headers, body, signal }).catch((error: unknown) => {
      throw new CallFailed(problemOf(error, signal));
    }),
  );
  if (status >= 200 && status < 300) return status;
  const isRedirect = status >= 300 && status < 400;
  const more = isRedirect ? "; redirects are not followed" : "";
  throw new CallFailed(`It answered ${status}${more}.`, status, retryAfterMs);
}

interface Sent {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly signal: AbortSignal;
}

async function send(config: OutboundSettings, url: URL, { body, signal, ...sent }: Sent) {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const headers = { ...sent.headers, "content-length": String(Buffer.byteLength(body)) };
  const options = { method: "POST", headers, signal, lookup: checkedLookup(config), agent: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).on("error", reject).end(body);
  });
  // The status has arrived, so the rest of the answer does not matter.
  await readAway(response).catch(() => undefined);
  const retryAfter = /^\d{1,9}$/.exec(response.headers["retry-after"] ?? "")?.[0];
  return {
    status: response.statusCode ?? 0,
    retryAfterMs: retryAfter === undefined ? null : Number(retryAfter) * 1_000,
  };
}

/** Reads the rest, because some receivers take a hang-up for a failure. */
async function readAway(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += Buffer.byteLength(chunk);
    // Leaving the loop closes the connection.
    if (bytes > limits.outboundAnswerBytesMax) return;
  }
}

/** One private address among others is enough to refuse, because any of them may be called. */
function checkedLookup(config: OutboundSettings): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      const found = addresses ?? [];
      const isRefused = found.some(({ address }) => !isAllowed(config, address));
      const failure = error ?? (isRefused ? new PrivateAddress() : null);
      const [{ address, family } = { address: "", family: 0 }] = found;
      if (options.all === true) done(failure, found);
      else done(failure, address, family);
    });
  };
}

class PrivateAddress extends Error {
  override readonly name = "PrivateAddress";
}

function isAllowed(config: OutboundSettings, address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const mayBePrivate = config.OUTBOUND_PRIVATE_ADDRESSES === "on";
  // An IPv4 address within IPv6 counts as that IPv4 address.
  const range = ipaddr.process(address).range();
  return (mayBePrivate ? privateRanges : publicRanges).has(range);
}

const privateText = "a private address (OUTBOUND_PRIVATE_ADDRESSES)";

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1");

function problemOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof PrivateAddress) return `The name leads to ${privateText}.`;
  if (signal.aborted) return `There was no answer within ${limits.deliveryMsMax / 1_000} s.`;
  const { code } = Object(error);
  return `It could not be reached (${typeof code === "string" ? code : "no HTTP"}).`;
}
