/**
 * A real HTTP server that speaks the part of Google Play's API this service asks: purchases,
 * orders (one or many), products, the bucket with reports, and the token end-point of a service
 * account.
 */
import { createVerify, generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { JsonObject } from "../payloads/google.js";
import { serveHttp } from "../harness/loopback.js";
import { number, text } from "../model/readers/json.js";
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
  /** Reports by name, such as `sales/salesreport_202603.zip`. */
  readonly bucket: Map<string, Buffer>;
  readonly bucketName: string;
  /** For the credentials of an integration. */
  readonly serviceAccountKey: Record<string, string>;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const accountEmail = "revenue-reader@example-project.iam.gserviceaccount.com";
/** By what they are for. */
const accessTokens = {
  "https://www.googleapis.com/auth/androidpublisher": "ya29.of-the-tests",
  "https://www.googleapis.com/auth/devstorage.read_only": "ya29.of-the-bucket",
};
const [publisherToken, bucketToken] = Object.values(accessTokens);
const tokenSeconds = 3599;

export async function openGooglePlay(): Promise<GooglePlay> {
  const url = await serveHttp("google play", (request, response) => {
    const path = request.url ?? "";
    if (path === "/token") return void grant(request, response, `${play.url}/token`);
    play.calls.push(path);
    if (play.misbehave?.(request, response) === true) return;
    const isOfBucket = path.startsWith("/storage/v1/b/");
    const token = isOfBucket ? bucketToken : publisherToken;
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, 401, {});
    if (isOfBucket) return answerFromBucket(play, path, response);
    const answer = answerTo(play, path);
    send(response, answer === null ? 404 : 200, answer ?? { error: { code: 404 } });
  });
  const play: GooglePlay = {
    url,
    calls: [],
    answers: new Map(),
    orders: new Map(),
    voided: [],
    bucket: new Map(),
    bucketName: "pubsite_prod_rev_00000000000000000042",
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

/** Cloud Storage's JSON API: objects by their beginning, one a page, or the bytes of one. */
function answerFromBucket({ bucket, bucketName }: GooglePlay, path: string, to: ServerResponse) {
  const { pathname, searchParams } = new URL(path, "http://play.test");
  const [, of, object] = /^\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(pathname) ?? [];
  const bytes = object === undefined ? undefined : bucket.get(decodeURIComponent(object));
  const isMissing = object !== undefined && bytes === undefined;
  if (of !== bucketName || isMissing) return send(to, 404, { error: { code: 404 } });
  if (bytes !== undefined && searchParams.get("alt") === "media") {
    to.writeHead(200, { "content-type": "application/zip" });
    return void to.end(bytes);
  }
  const prefix = searchParams.get("prefix") ?? "";
  const names = [...bucket.keys()].filter((name) => name.startsWith(prefix)).sort();
  const [name, next] = names.filter((each) => each >= (searchParams.get("pageToken") ?? ""));
  // Without any there are no items at all.
  send(to, 200, {
    ...(name !== undefined && { items: [{ name }] }),
    ...(next !== undefined && { nextPageToken: next }),
  });
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
  const token = tokenFor(form.get("assertion") ?? "", audience);
  if (!isForm || !isGrant || token === null) {
    return send(response, 400, { error: "invalid_grant" });
  }
  send(response, 200, {
    access_token: token,
    expires_in: tokenSeconds,
    token_type: "Bearer",
  });
}

function tokenFor(assertion: string, audience: string): string | null {
  const [head = "", claims = "", signature = ""] = assertion.split(".");
  const isSigned = createVerify("RSA-SHA256")
    .update(`${head}.${claims}`)
    .verify(publicKey, signature, "base64url");
  const reported: unknown = JSON.parse(Buffer.from(claims, "base64url").toString());
  const lasts = (number(reported, "exp") ?? 0) - (number(reported, "iat") ?? 0);
  const isForMe = text(reported, "aud") === audience && text(reported, "iss") === accountEmail;
  if (!isSigned || !isForMe || lasts <= 0 || lasts > 3600) return null;
  return text(accessTokens, text(reported, "scope") ?? "");
}
