/**
 * The report `payout_reconciliation` of one payout. Paddle makes one report at a time and a hundred
 * in 24 hours, and keeps each for 14 days. So the list of reports is read first, and a new one is
 * made only where none of them will do, whoever had them made.
 */
import { z } from "zod";
import { type Ask, type Making, type Payout, PayoutUnread } from "../../payouts.js";
import { field } from "../event.js";
import { all } from "./object.js";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const keptMs = 14 * dayMs;
/** A report may lack what happened within this time before it was made. */
const delayMs = dayMs;
/** One that may lack something is made anew after this. */
const earlyUsedMs = 6 * hourMs;
/** None is used that expires while it is read. */
const marginMs = 10 * 60 * 1000;
/** Made within 24 hours: of one payout, and of all reports, so that people can make theirs. */
const madeOfPayoutMax = 3;
const madeInAllMax = 50;
/** Paddle is not asked again so soon after it could not make one. */
const failedRestMs = hourMs;
/** How long one call waits for a report; the next finds it. */
const pausesMs = [500, 1_000, 2_000, 4_000];

const shape = z.object({
  id: field.id,
  type: z.string(),
  status: z.string(),
  rows: z.int().nullish(),
  filters: z.array(z.object({ name: z.string(), value: z.unknown() })).nullish(),
  created_at: field.time,
  expires_at: field.time.nullish(),
});
type Report = z.output<typeof shape>;
const answer = z.object({ data: shape });

/** @throws PayoutUnread */
export async function readyReport(payout: Payout, ask: Ask, making: Making): Promise<Report> {
  const listed = await listedReports(ask, making.now);
  const usable = listed.find((one) => isOf(payout, one) && isUsable(one, payout, making.now));
  if (usable !== undefined) return usable;
  const begun = listed.find(isPending) ?? (await made(payout, listed, ask, making.now));
  if (!isOf(payout, begun)) throw otherIsMade();
  return whenReady(begun, ask, making);
}

/** Made before all of the payout was sure to be in it. */
export function isEarly({ created_at: madeAt }: Report, payout: Payout): boolean {
  return madeAt < payout.createdAt + delayMs;
}

async function listedReports(ask: Ask, now: number): Promise<Report[]> {
  const reports: Report[] = [];
  const query = { status: "pending,ready,failed,expired" };
  for await (const report of all(ask, "/reports", query, shape)) {
    if (report.created_at < now - keptMs) break;
    reports.push(report);
  }
  return reports;
}

function isOf({ id }: Payout, { type, filters }: Report): boolean {
  const [filter, ...others] = filters ?? [];
  const isReference = filter?.name === "remittance_reference" && others.length === 0;
  return type === "payout_reconciliation" && isReference && [filter.value].flat().join() === id;
}

function isUsable(report: Report, payout: Payout, now: number): boolean {
  const { status, expires_at: expiresAt, created_at: madeAt } = report;
  const isKept = (expiresAt ?? madeAt + keptMs) > now + marginMs;
  return status === "ready" && isKept && (!isEarly(report, payout) || madeAt > now - earlyUsedMs);
}

function isPending({ status }: Report): boolean {
  return status === "pending";
}

async function made(
  payout: Payout,
  listed: readonly Report[],
  ask: Ask,
  now: number,
): Promise<Report> {
  const ofToday = listed.filter(({ created_at: at }) => at > now - dayMs);
  const own = ofToday.filter((one) => isOf(payout, one));
  if (own.some(({ status, created_at: at }) => status === "failed" && at > now - failedRestMs)) {
    throw couldNot();
  }
  if (own.length >= madeOfPayoutMax || ofToday.length >= madeInAllMax) {
    const message = "Too many of Paddle's reports were made in the last 24 hours. Try tomorrow.";
    throw new PayoutUnread(message, false);
  }
  const filters = [{ name: "remittance_reference", value: [payout.id] }];
  const begun = await ask("/reports", answer, { type: "payout_reconciliation", filters });
  if (begun !== null) return begun.data;
  // Somebody was faster, or the answer to a first try was lost.
  const other = (await listedReports(ask, now)).find(isPending);
  if (other === undefined) throw otherIsMade();
  return other;
}

async function whenReady(begun: Report, ask: Ask, making: Making): Promise<Report> {
  let report = begun;
  for (const ms of pausesMs) {
    if (report.status === "ready") return report;
    if (!isPending(report)) throw couldNot();
    await making.pause(ms);
    const path = `/reports/${encodeURIComponent(report.id)}`;
    report = (await ask(path, answer))?.data ?? report;
  }
  if (report.status === "ready") return report;
  if (!isPending(report)) throw couldNot();
  throw new PayoutUnread("Paddle is still making the report of this payout.", true);
}

function couldNot(): PayoutUnread {
  const message = "Paddle could not make the report of this payout. Try again in an hour.";
  return new PayoutUnread(message, false);
}

function otherIsMade(): PayoutUnread {
  return new PayoutUnread("Paddle is making another report, and makes one at a time.", true);
}
