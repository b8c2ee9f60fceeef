/**
 * Paddle's reports, as documented: one is made at a time and a hundred in 24 hours, `pending` until
 * it was asked about so often, then kept for 14 days; the file is at another host, by a link that
 * ends after three minutes, without credentials.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { JsonObject } from "../../ops/payloads/paddle.js";
import { isObject, textOf } from "../../providers/fields.js";
import { dayMs } from "../harness/days.js";
import { send } from "./stripe-api.js";

export interface PaddleReports {
  /** Of each payout by its reference; none: a file without rows. */
  readonly rows: Map<string, readonly Readonly<Record<string, string>>[]>;
  /** How often one is asked about until it is made; 0: it is made at once. */
  askedUntilReady: number;
  /** What becomes of it then. */
  becomes: "ready" | "failed";
  /** Where links lead to. */
  host: string;
  /** Rows that Paddle says there are beside those in the file. */
  rowsCut: number;
  /** Calls for files that had credentials with them. */
  credentialsGiven: number;
}

export const reportCalls = {
  rows: new Map(),
  askedUntilReady: 1,
  becomes: "ready",
  host: "https://reports.paddle.com",
  rowsCut: 0,
  credentialsGiven: 0,
} satisfies PaddleReports;

const linkMs = 3 * 60 * 1000;
const madePerDayMax = 100;
const filePath = /^\/payout_reconciliation-(.+)\.csv$/;

/** A file, which needs no key. @returns whether it was one */
export function sendFile(
  reports: PaddleReports,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://paddle.test");
  const [, payout] = filePath.exec(pathname) ?? [];
  if (payout === undefined) return false;
  if (request.headers.authorization !== undefined) reports.credentialsGiven += 1;
  if (Number(searchParams.get("until")) < Date.now()) send(response, 403, {});
  else {
    response.writeHead(200, { "content-type": "text/csv" });
    response.end(csv(reports.rows.get(payout) ?? []));
  }
  return true;
}

/** @param list of `/reports`, which a POST adds to. @returns whether the path is of reports */
export async function answerReports(
  reports: PaddleReports,
  list: JsonObject[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname } = new URL(request.url ?? "", "http://paddle.test");
  if (request.method === "POST" && pathname === "/reports") {
    const given: unknown = JSON.parse(await text(request));
    const made = madeOf(given, list);
    if (typeof made !== "string") list.push(made);
    if (typeof made !== "string" && reports.askedUntilReady === 0) age(reports, made);
    const refusal = { error: { type: "request_error", code: made } };
    send(response, typeof made === "string" ? 400 : 201, { data: made, ...refusal });
    return true;
  }
  const [, id, rest = ""] = /^\/reports\/([^/]+)(\/download-url)?$/.exec(pathname) ?? [];
  const report = list.find((one) => one["id"] === id);
  if (report === undefined) return false;
  if (rest === "") {
    age(reports, report);
    send(response, 200, { data: report });
  } else if (report["status"] === "ready") {
    const file = `payout_reconciliation-${referenceOf(report)}.csv`;
    const url = `${reports.host}/${file}?until=${Date.now() + linkMs}`;
    send(response, 200, { data: { url } });
  } else {
    send(response, 400, { error: { type: "request_error", code: "report_expired" } });
  }
  return true;
}

function madeOf(given: unknown, list: readonly JsonObject[]): JsonObject | string {
  if (!isObject(given) || given["type"] !== "payout_reconciliation") return "invalid_field";
  if (list.some(({ status }) => status === "pending")) {
    return "concurrent_report_generation_not_allowed";
  }
  const now = Date.now();
  const today = list.filter((one) => Date.parse(textOf(one["created_at"]) ?? "") > now - dayMs);
  if (today.length >= madePerDayMax) return "report_creation_limit_exceeded";
  return reportObject(`rep_${String(list.length).padStart(3, "0")}`, given["filters"], now);
}

export function reportObject(id: string, filters: unknown, madeAt: number): JsonObject {
  const made = new Date(madeAt).toISOString();
  const object = { id, type: "payout_reconciliation", status: "pending", rows: null };
  const parsed: JsonObject = JSON.parse(JSON.stringify({ filters }));
  return { ...object, ...parsed, expires_at: null, created_at: made, updated_at: made };
}

/** Changes `report` as time changes Paddle's. */
function age(reports: PaddleReports, report: JsonObject): void {
  const asked = Number(report["asked"] ?? 0) + 1;
  report["asked"] = asked;
  if (report["status"] !== "pending" || asked < reports.askedUntilReady) return;
  report["status"] = reports.becomes;
  report["rows"] = (reports.rows.get(referenceOf(report)) ?? []).length + reports.rowsCut;
  report["expires_at"] = new Date(Date.now() + 14 * dayMs).toISOString();
}

function referenceOf({ filters }: JsonObject): string {
  const [first] = Array.isArray(filters) ? filters : [];
  return isObject(first) ? [first["value"]].flat().map(textOf).join() : "";
}

function csv(rows: readonly Readonly<Record<string, string>>[]): string {
  const names = [...new Set(["balance_movement_type", ...rows.flatMap(Object.keys)])];
  const cells = rows.map((row) => names.map((name) => `"${row[name] ?? ""}"`).join(","));
  return [names.join(","), ...cells].join("\n");
}
