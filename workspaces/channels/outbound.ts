/**
 * Calls addresses that others chose: webhooks and chat channels of members, and what programs say
 * of themselves. Nobody may reach private machines this way, so names that lead to private
 * addresses are refused, and redirects are not followed. The address is checked again when the
 * connection is made.
 */
import { lookup } from "node:dns";
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
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
  sent: { readonly headers: Record<string, string>; readonly body: string },
  stopping: AbortSignal,
): Promise<number> {
  return (await call(config, text, { method: "POST", ...sent }, stopping)).status;
}

/** @throws CallFailed unless the answer is a 2xx that came whole and is not too long */
export async function get(
  config: OutboundSettings,
  text: string,
): Promise<{ readonly body: string; readonly headers: IncomingHttpHeaders }> {
  const asked = { method: "GET", headers: { accept: "application/json" } } as const;
  const { status, body, headers } = await call(config, text, asked, new AbortController().signal);
  if (body === null) throw new CallFailed("Its answer is too long, or broke off.", status);
  return { body, headers };
}

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function call(config: OutboundSettings, text: string, sent: Sent, stopping: AbortSignal) {
  const problem = addressProblem(config, text);
  if (problem !== null) throw new CallFailed(`The address ${problem}.`);
  const answer = await withDeadline(limits.deliveryMsMax, stopping, (signal) =>
    send(config, new URL(text), sent, signal).catch((error: unknown) => {
      throw new CallFailed(problemOf(error, signal));
    }),
  );
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return answer;
  const more = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const retryAfter = /^\d{1,9}$/.exec(headers["retry-after"] ?? "")?.[0];
  const retryAfterMs = retryAfter === undefined ? null : Number(retryAfter) * 1_000;
  throw new CallFailed(`It answered ${status}${more}.`, status, retryAfterMs);
}

async function send(
  config: OutboundSettings,
  url: URL,
  { method, headers: given, body }: Sent,
  signal: AbortSignal,
) {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const headers = { ...given, ...length };
  const options = { method, headers, signal, lookup: checkedLookup(config), agent: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).on("error", reject).end(body);
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: await readRest(response).catch(() => null),
  };
}

/**
 * Also where only the status matters, because some receivers take a hang-up for a failure.
 * @returns null: it is longer than what is read
 */
async function readRest(response: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    bytes += Buffer.byteLength(chunk);
    // Leaving the loop closes the connection.
    if (bytes > limits.outboundAnswerBytesMax) return null;
  }
  return Buffer.concat(chunks).toString();
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
