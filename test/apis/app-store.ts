/**
 * A real HTTP server that speaks the part of the App Store Server API that history is read with:
 * notifications of the last 180 days, transactions and refunds of a customer, 20 a page, statuses
 * of subscriptions. Transactions are in the order in which they were changed last. So, too, the
 * reports of App Store Connect, which take a key of another kind.
 */
import { generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text as textIn } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { type AppInput, type JsonObject, renewalInfo } from "../../ops/payloads/apple.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import { type Signer, signJws } from "../../providers/apple/jws.js";
import { serveHttp } from "../harness/loopback.js";
import { at, number, text } from "../model/readers/json.js";
import { send } from "./stripe-api.js";

/** Whatever a customer bought in the app. */
interface Customer {
  /** Payloads of transactions, that changed last behind the others. */
  readonly transactions: readonly JsonObject[];
  /** Of subscriptions, by original transaction id. */
  readonly statuses: Readonly<Record<string, { status: number; expirationIntent?: number }>>;
}

interface Notification {
  readonly signedPayload: string;
  readonly sentAt: number;
}

export interface AppStore {
  readonly url: string;
  readonly signer: Signer;
  readonly app: AppInput;
  /** For an integration. */
  readonly credentials: Readonly<Record<string, unknown>>;
  /** The same with a team key. */
  readonly reportCredentials: Readonly<Record<string, unknown>>;
  /** Text by `SALES 2026-03`, or FINANCIAL and Apple's fiscal month. */
  readonly reports: Map<string, string>;
  readonly customers: Customer[];
  /** In any order. */
  readonly notifications: Notification[];
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const issuer = "57246542-96fe-1a63-e053-0824d011072a";
const keyId = "2X9R4HXF34";
const team = generateKeyPairSync("ec", { namedCurve: "P-256" });
const teamKeyId = "7K3Q9ABCDE";
const vendor = "85000000";
const pageLength = 20;
const dayMs = 24 * 60 * 60 * 1000;
const notificationsMs = 180 * dayMs;
const tokenSecondsMax = 60 * 60;
const teamTokenSecondsMax = 20 * 60;

export async function openAppStore(): Promise<AppStore> {
  const signer = makeTestChain();
  const app: AppInput = {
    bundleId: "com.example.history",
    appAppleId: 6448311069,
    environment: "Production",
  };
  const url = await serveHttp("app store", (request, response) => {
    store.calls.push(request.url ?? "");
    if (store.misbehave?.(request, response) === true) return;
    if (/^\/v1\/(sales|finance)Reports\?/.test(request.url ?? "")) {
      return answerReport(store, request, response);
    }
    if (!isAllowed(request, app)) return send(response, 401, {});
    void answer(store, request, response);
  });
  const store: AppStore = {
    url,
    signer,
    app,
    credentials: {
      bundle_id: app.bundleId,
      app_apple_id: app.appAppleId,
      root_certificates: [signer.x5c[2]],
      issuer_id: issuer,
      key_id: keyId,
      private_key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    },
    reportCredentials: {
      bundle_id: app.bundleId,
      app_apple_id: app.appAppleId,
      vendor_number: vendor,
      reports_issuer_id: issuer,
      reports_key_id: teamKeyId,
      reports_private_key: String(team.privateKey.export({ type: "pkcs8", format: "pem" })),
    },
    reports: new Map(),
    customers: [],
    notifications: [],
    calls: [],
    misbehave: null,
  };
  return store;
}

/** As Apple answers: what there is as gzip, anything else as JSON. */
function answerReport(store: AppStore, request: IncomingMessage, response: ServerResponse) {
  const claims = tokenIn(request, team.publicKey, teamKeyId, teamTokenSecondsMax);
  // No app is named: the key is the team's.
  if (claims === null || at(claims, "bid") !== undefined) return send(response, 401, {});
  const { pathname, searchParams } = new URL(request.url ?? "", store.url);
  const filter = (name: string) => searchParams.get(`filter[${name}]`);
  const isSales = pathname === "/v1/salesReports";
  const isWhole = isSales
    ? filter("reportSubType") === "SUMMARY" && filter("frequency") === "MONTHLY"
    : filter("regionCode") === "ZZ";
  const type = isSales ? "SALES" : "FINANCIAL";
  if (!isWhole || filter("reportType") !== type || filter("vendorNumber") !== vendor) {
    return send(response, 400, { errors: [{ code: "PARAMETER_ERROR.INVALID" }] });
  }
  const limits = { "x-rate-limit": "user-hour-lim:3600;user-hour-rem:3587;" };
  const report = store.reports.get(`${type} ${filter("reportDate")}`);
  if (report === undefined) {
    const detail = "There were no sales for the date specified.";
    return send(response, 404, { errors: [{ status: "404", code: "NOT_FOUND", detail }] }, limits);
  }
  response.writeHead(200, { "content-type": "application/a-gzip", ...limits });
  response.end(gzipSync(report));
}

/** A token as Apple describes it: of this key, for this app, for an hour at most. */
function isAllowed(request: IncomingMessage, app: AppInput): boolean {
  const claims = tokenIn(request, publicKey, keyId, tokenSecondsMax);
  return claims !== null && text(claims, "bid") === app.bundleId;
}

/** @returns what it claims; null: it is no ES256 token of this key that is good now */
function tokenIn(
  { headers }: IncomingMessage,
  key: KeyObject,
  kid: string,
  secondsMax: number,
): unknown {
  const token = headers.authorization?.replace(/^Bearer /, "") ?? "";
  const [head = "", claims = "", signature = ""] = token.split(".");
  const how = { key, dsaEncoding: "ieee-p1363" } as const;
  const signed = Buffer.from(`${head}.${claims}`);
  if (!verify("sha256", signed, how, Buffer.from(signature, "base64url"))) return null;
  const [header, claimed] = [head, claims].map((part): unknown =>
    JSON.parse(Buffer.from(part, "base64url").toString()),
  );
  const seconds = Date.now() / 1000;
  const [iat, exp] = [number(claimed, "iat") ?? 0, number(claimed, "exp") ?? 0];
  const isGood =
    text(header, "alg") === "ES256" &&
    text(header, "kid") === kid &&
    text(claimed, "iss") === issuer &&
    text(claimed, "aud") === "appstoreconnect-v1" &&
    exp > seconds &&
    exp - iat <= secondsMax;
  return isGood ? claimed : null;
}

async function answer(store: AppStore, request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? "", store.url);
  if (request.method === "POST" && pathname === "/inApps/v1/notifications/history") {
    const asked: unknown = JSON.parse(await textIn(request));
    const [from, to] = [number(asked, "startDate") ?? 0, number(asked, "endDate") ?? 0];
    if (from < Date.now() - notificationsMs || to <= from) {
      return send(response, 400, { errorCode: 4000012, errorMessage: "Invalid request." });
    }
    const sent = store.notifications.filter(({ sentAt }) => sentAt >= from && sentAt <= to);
    const { some, next, hasMore } = pageIn(sent, searchParams.get("paginationToken"));
    const notificationHistory = some.map(({ signedPayload }) => ({ signedPayload }));
    return send(response, 200, { notificationHistory, hasMore, paginationToken: next });
  }
  const [, list = "", id = ""] = listPath.exec(pathname) ?? [];
  if (!/^\d+$/.test(id)) return send(response, 400, { errorCode: 4000006 });
  const customer = store.customers.find(({ transactions }) =>
    transactions.some((one) => one["transactionId"] === id || one["originalTransactionId"] === id),
  );
  if (customer === undefined) return send(response, 404, { errorCode: 4040010 });
  send(response, 200, customersAnswer(store, customer, list, searchParams));
}

const listPath = /^\/inApps\/(v2\/history|v2\/refund\/lookup|v1\/subscriptions)\/([^/]+)$/;

function customersAnswer(
  { signer, app }: AppStore,
  { transactions, statuses }: Customer,
  list: string,
  query: URLSearchParams,
): JsonObject {
  const sign = (one: JsonObject) => signJws({ ...one, signedDate: Date.now() }, signer);
  const common = { environment: app.environment, bundleId: app.bundleId };
  if (list === "v1/subscriptions") {
    const lastTransactions = Object.entries(statuses).map(([originalId, { status, ...more }]) => {
      const own = transactions.filter((one) => one["originalTransactionId"] === originalId);
      const last = own.reduce((one, other) => (boughtAt(one) > boughtAt(other) ? one : other));
      const signedAt = Date.now();
      const renewal = renewalInfo(app, { originalId, product: "any", signedAt, ...more });
      return {
        originalTransactionId: originalId,
        status,
        signedTransactionInfo: sign(last),
        signedRenewalInfo: signJws(renewal, signer),
      };
    });
    return { ...common, data: [{ subscriptionGroupIdentifier: "1", lastTransactions }] };
  }
  const owned = query.get("inAppOwnershipType");
  const wanted = transactions.filter((one) =>
    list === "v2/history"
      ? owned === null || one["inAppOwnershipType"] === owned
      : one["revocationDate"] !== undefined && one["isUpgraded"] !== true,
  );
  const { some, next, hasMore } = pageIn(wanted, query.get("revision"));
  return { ...common, revision: next, hasMore, signedTransactions: some.map(sign) };
}

function boughtAt({ purchaseDate }: JsonObject): number {
  return Number(purchaseDate);
}

/** Tokens say nothing: one of a number alone could be guessed. */
function pageIn<One>(all: readonly One[], token: string | null) {
  const start = token === null ? 0 : Number(/^token_(\d+) ==$/.exec(token)?.[1]);
  const end = start + pageLength;
  return { some: all.slice(start, end), next: `token_${end} ==`, hasMore: end < all.length };
}
