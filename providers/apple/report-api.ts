/**
 * The App Store Connect API, as far as it has reports: each is one file, gzip. Sources:
 * developer.apple.com/documentation/appstoreconnectapi, “Download Sales and Trends Reports”,
 * “Download Finance Reports” and “Identifying Rate Limits”.
 */
import { monthNumber, monthText } from "../../schemas/months.js";
import type { FetchedReports } from "../provider.js";
import type { ReportOf } from "../reports/report.js";
import { signedToken } from "./api.js";
import type { AppleCredentials } from "./credentials.js";

/** Apple takes tokens of up to 20 minutes. */
const tokenSeconds = 15 * 60;
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
      return signedToken({ iss, kid, pem }, {}, tokenSeconds, now);
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
