/**
 * A real HTTP server that speaks the part of Google Play's API this service asks: purchases,
 * orders (one or many), products, and the token end-point of a service account.
 */
import { createVerify, generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { JsonObject } from "../../ops/payloads/google.js";
import { serveHttp } from "../harness/loopback.js";
import { at, number, text } from "../model/readers/json.js";
import { send } from "./stripe-api.js";

export interface GooglePlay {
  readonly url: string;
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Purchases and products by path (providers/google/paths.ts). */
  readonly answers: Map<string, JsonObject>;
  readonly orders: Map<string, JsonObject>;
  /** As they are listed, of the last 30 days. */
  readonly voided: JsonObject[];
  /** For the credentials of an integration. */
  readonly serviceAccountKey: Record<string, string>;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const accountEmail = "revenue-reader@example-project.iam.gserviceaccount.com";
const accessToken = "ya29.of-the-tests";
const tokenSeconds = 3599;
const scope = "https://www.googleapis.com/auth/androidpublisher";

export async function openGooglePlay(): Promise<GooglePlay> {
  const url = await serveHttp("google play", (request, response) => {
    const path = request.url ?? "";
    if (path === "/token") return void grant(request, response, `${play.url}/token`);
    play.calls.push(path);
    if (play.misbehave?.(request, response) === true) return;
    if (request.headers.authorization !== `Bearer ${accessToken}`) return send(response, 401, {});
    const answer = answerTo(play, path);
    send(response, answer === null ? 404 : 200, answer ?? { error: { code: 404 } });
  });
  const play: GooglePlay = {
    url,
    calls: [],
    answers: new Map(),
    orders: new Map(),
    voided: [],
    serviceAccountKey: {
      type: "service_account",
      client_email: accountEmail,
      private_key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
      private_key_id: "key-of-the-account",
      token_uri: `${url}/token`,
    },
    misbehave: null,
  };
  return play;
}

/** @returns null for what does not exist */
export function answerTo(
  { answers, orders, voided = [] }: Pick<GooglePlay, "answers" | "orders"> & Partial<GooglePlay>,
  path: string,
): JsonObject | null {
  const { pathname, searchParams } = new URL(path, "http://play.test");
  if (pathname.endsWith("/purchases/voidedpurchases")) return voidedPage(voided, searchParams);
  const [, order] = /\/orders\/([^/]+)$/.exec(pathname) ?? [];
  if (order !== undefined) return orders.get(decodeURIComponent(order)) ?? null;
  if (!pathname.endsWith("/orders:batchGet")) return answers.get(pathname) ?? null;
  const found = searchParams.getAll("orderIds").map((id) => orders.get(id));
  const all = found.filter((each) => each !== undefined);
  return all.length === found.length ? { orders: all } : null;
}

/** Subscriptions only where they are asked for; two a page, whatever is asked for. */
function voidedPage(all: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const since = Math.max(Number(query.get("startTime")), Date.now() - voidedMs);
  const found = query.get("type") === "1" ? all : [];
  const listed = found.filter((one) => Number(one["voidedTimeMillis"]) >= since);
  const start = Number(query.get("token") ?? 0);
  const end = start + voidedAtOnce;
  const more = end < listed.length ? { tokenPagination: { nextPageToken: `${end}` } } : {};
  return { voidedPurchases: listed.slice(start, end), ...more };
}

const voidedMs = 30 * 24 * 60 * 60 * 1000;
const voidedAtOnce = 2;

/** The JWT bearer grant of RFC 7523, as Google describes it for service accounts. */
async function grant(request: IncomingMessage, response: ServerResponse, audience: string) {
  const form = new URLSearchParams(await textOf(request));
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  const isGrant = form.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer";
  if (!isForm || !isGrant || !isOurs(form.get("assertion") ?? "", audience)) {
    return send(response, 400, { error: "invalid_grant" });
  }
  send(response, 200, {
    access_token: accessToken,
    expires_in: tokenSeconds,
    token_type: "Bearer",
  });
}

function isOurs(assertion: string, audience: string): boolean {
  const [head = "", claims = "", signature = ""] = assertion.split(".");
  const isSigned = createVerify("RSA-SHA256")
    .update(`${head}.${claims}`)
    .verify(publicKey, signature, "base64url");
  const reported: unknown = JSON.parse(Buffer.from(claims, "base64url").toString());
  const lasts = (number(reported, "exp") ?? 0) - (number(reported, "iat") ?? 0);
  const isForMe = text(reported, "aud") === audience && text(reported, "iss") === accountEmail;
  return isSigned && isForMe && at(reported, "scope") === scope && lasts > 0 && lasts <= 3600;
}
