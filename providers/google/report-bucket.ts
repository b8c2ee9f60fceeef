/**
 * The bucket in Cloud Storage that has a Play Console's reports, read by its JSON API. Sources:
 * support.google.com/googleplay/android-developer/answer/6135870 (the names of the files) and
 * cloud.google.com/storage/docs/json_api/v1/objects.
 */
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import type { Download, FetchedReports } from "../provider.js";
import type { ReportOf } from "../reports/report.js";
import { authorizedFor, type Keyed } from "./api.js";

const scope = "https://www.googleapis.com/auth/devstorage.read_only";
/** Of one month; there are one or two. */
const filesMax = 20;

/** As Play Console's “Copy Cloud Storage URI” has it, or the name alone. */
export const reportsBucket = z
  .string()
  .trim()
  .transform((text) => text.replace(/^gs:\/\//, "").replace(/\/.*$/, ""))
  .refine((name) => /^pubsite_prod_(rev_)?\d+$/.test(name), "must be a pubsite_prod_… bucket");

export function playBucket(
  tokenHosts: readonly string[],
): FetchedReports<Keyed & { readonly reports_bucket?: string | undefined }> {
  return {
    kinds: ["estimated_sales", "earnings"],
    api: {
      baseUrl: () => "https://storage.googleapis.com",
      allowsCalls: ({ reports_bucket: bucket, service_account_key: key }) =>
        bucket !== undefined && key !== undefined,
      authorize: authorizedFor(scope, tokenHosts),
      requestsPerSecond: 5,
    },
    async files(of, { reports_bucket: bucket = "" }, download) {
      const objects = `/storage/v1/b/${bucket}/o`;
      const names = await namesOf(of, objects, download);
      if (names === null) return `there is no bucket ${bucket}`;
      const files: Buffer[] = [];
      for (const name of names) {
        const file = await download(`${objects}/${encodeURIComponent(name)}?alt=media`);
        if (file !== null) files.push(file);
      }
      return files;
    },
  };
}

const listAnswer = z.object({
  items: z.array(z.object({ name: z.string() })).default([]),
  nextPageToken: z.string().optional(),
});

/** `sales/salesreport_202603.zip`, `earnings/earnings_202603_<account>-<n>.zip` */
async function namesOf(
  of: ReportOf,
  objects: string,
  download: Download,
): Promise<string[] | null> {
  const prefix = of.kind === "earnings" ? "earnings/earnings_" : "sales/salesreport_";
  const query = new URLSearchParams({
    prefix: prefix + of.month.replace("-", ""),
    fields: "items(name),nextPageToken",
  });
  const names: string[] = [];
  for (let isLast = false; !isLast && names.length < filesMax;) {
    const answer = await download(`${objects}?${query.toString()}`);
    const page = answer === null ? null : listAnswer.safeParse(jsonValue(answer)).data;
    if (!page) return null;
    const { items, nextPageToken: next } = page;
    names.push(...items.map(({ name }) => name).filter((name) => /\.(zip|csv)$/.test(name)));
    isLast = next === undefined;
    query.set("pageToken", next ?? "");
  }
  return names.slice(0, filesMax);
}
