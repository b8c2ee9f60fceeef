/**
 * The App Store Server API, which only a backfill asks: each call carries a token that the
 * merchant's key signed. Sources: developer.apple.com/documentation/appstoreserverapi, “Generating
 * JSON Web Tokens for API requests” and “Identifying rate limits”.
 */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import { parseJsonText } from "../../schemas/parse.js";
import type { FetchedReports, ProviderApi } from "../provider.js";
import { signCompact } from "../signatures.js";
import type { AppleCredentials } from "./credentials.js";
import { monthNumber, monthText } from "../../schemas/months.js";
import type { ReportOf } from "../reports/report.js";

/** Apple takes tokens of up to an hour. */
const tokenSeconds = 30 * 60;

export const appleApi: ProviderApi<AppleCredentials> = {
  baseUrl: () => "https://api.storekit.itunes.apple.com",
  allowsCalls: ({ private_key: key }) => key !== undefined,
  async authorize({ bundle_id: bid, issuer_id: iss, key_id: kid, private_key: pem }, now) {
    return pem === undefined ? null : signedToken({ iss, kid, pem }, { bid }, tokenSeconds, now);
  },
  // Of one app: 50 a second, but 10 for refunds, counted by the hour.
  requestsPerSecond: 10,
  meaningOf(status, text) {
    if (status !== 400 && status !== 404) return null;
    const json = parseJsonText(text);
    const { errorCode = 0 } = (json.ok ? errorAnswer.safeParse(json.value).data : null) ?? {};
    if (notNow.has(errorCode)) return "trouble";
    return nobodys.has(errorCode) ? "absent" : "refused";
  },
};

/** Both of Apple's APIs take tokens of this form, each of a key of its own kind. */
function signedToken(
  { iss, kid, pem }: Readonly<Record<"iss" | "kid", string | undefined>> & { readonly pem: string },
  claims: object,
  seconds: number,
  now: number,
) {
  const iat = Math.floor(now / 1000);
  const exp = iat + seconds;
  const token = signCompact(
    { alg: "ES256", kid, typ: "JWT" },
    { iss, iat, exp, aud: "appstoreconnect-v1", ...claims },
    createPrivateKey(pem),
  );
  return { headers: { authorization: `Bearer ${token}` }, until: exp * 1000 };
}

const errorAnswer = z.object({ errorCode: z.int() });
/** AccountNotFoundRetryableError, AppNotFound…, OriginalTransactionIdNotFound…. */
const notNow: ReadonlySet<number> = new Set([4040002, 4040004, 4040006]);
/**
 * An id that is none, or of another app: InvalidTransactionIdError, InvalidOriginalTransactionId…,
 * AccountNotFound…, OriginalTransactionIdNotFound…, TransactionIdNotFound….
 */
const nobodys: ReadonlySet<number> = new Set([4000006, 4000008, 4040001, 4040005, 4040010]);

/**
 * The App Store Connect API, as far as it has reports: each is one file, gzip. Sources:
 * developer.apple.com/documentation/appstoreconnectapi, “Download Sales and Trends Reports”,
 * “Download Finance Reports” and “Identifying Rate Limits”.
 */

/** Apple takes tokens of up to 20 minutes. */
const reportTokenSeconds = 15 * 60;
/** Of an hour's calls by one key: left to what else uses it. */
const callsLeft = 20;
/** Calls of an hour ago count no more, so some come back soon. */
const restMs = 10 * 60 * 1000;
/** Apple's fiscal year begins with its October. */
const fiscalMonthsAhead = 3;

export const appStoreConnect: FetchedReports<AppleCredentials> = {
  kinds: ["sales", "finance"],
  api: {
    baseUrl: () => "https://api.appstoreconnect.apple.com",
    allowsCalls: ({ reports_private_key: key }) => key !== undefined,
    async authorize({ reports_private_key: pem, ...given }, now) {
      if (pem === undefined) return null;
      const { reports_issuer_id: iss, reports_key_id: kid } = given;
      return signedToken({ iss, kid, pem }, {}, reportTokenSeconds, now);
    },
    // 3,500 an hour or so by each key; a night asks for some dozens.
    requestsPerSecond: 4,
    restMsOf: (headers) => {
      const [, left] = /user-hour-rem:(\d+)/.exec(headers.get("x-rate-limit") ?? "") ?? [];
      return left !== undefined && Number(left) < callsLeft ? restMs : null;
    },
  },
  async files(of, { vendor_number: vendor = "" }, download) {
    const file = await download(pathOf(of, vendor));
    return file === null ? [] : [file];
  },
};

function pathOf({ kind, month }: ReportOf, vendor: string): string {
  const filters =
    kind === "finance"
      ? { reportType: "FINANCIAL", regionCode: "ZZ", reportDate: fiscalMonth(month) }
      : { reportType: "SALES", reportSubType: "SUMMARY", frequency: "MONTHLY", reportDate: month };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, vendorNumber: vendor })) {
    query.set(`filter[${name}]`, value);
  }
  return `/v1/${kind === "finance" ? "financeReports" : "salesReports"}?${query.toString()}`;
}

/** What most of falls into 2026-04 is called 2026-07. */
function fiscalMonth(month: string): string {
  return monthText(monthNumber(Date.parse(`${month}-01T00:00:00Z`)) + fiscalMonthsAhead);
}
