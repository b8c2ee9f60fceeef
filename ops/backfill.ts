/**
 * Reads an integration's history while the service is stopped, telling how far it has come; the
 * same as `POST …/backfill` while it runs. Interrupted, the next start of the service goes on.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
  type Backfill,
  type ComparedMonth,
  canBeginAt,
  createBackfill,
  findBackfill,
} from "../workspaces/history/backfills.js";
import { progressOf } from "../workspaces/history/backfill-progress.js";
import type { Service } from "../service.js";
import { limits } from "../config.js";
import { createProviders } from "../providers/index.js";
import { knownExponentOf, minorToMajor } from "../schemas/money/money.js";
import { newBackfill } from "../schemas/http/manage.js";
import { utcDay } from "../schemas/money/rates.js";

export interface BackfillSteps {
  readonly startProcessors: (service: Service) => Promise<void>;
  readonly report: (line: string) => void;
}

const lookEveryMs = 500;

/** Far more than the ids of one backfill take. */
const idsFileBytesMax = 16 * 1024 * 1024;

/**
 * @param given.from of the history, ms since 1970
 * @param given.ids a file of ids, one a line, for a provider that lists nothing by itself
 * @returns 0 when all that is listed is booked, 1 when something differs, 2 when it failed
 */
export async function backfill(
  service: Service,
  {
    integration: id,
    from,
    ids: file = null,
  }: { readonly integration: string; readonly from: number; readonly ids?: string | null },
  { startProcessors, report }: BackfillSteps,
): Promise<number> {
  const { postgres } = service;
  const fail = (why: string): number => {
    report(why);
    return 2;
  };
  const integration = await service.integrations.byId(id);
  const providers = [...createProviders(service.config).values()];
  const provider = providers.find(({ token }) => token === integration?.provider);
  const history = provider?.backfill;
  const [list] = history?.lists ?? [];
  if (integration === null || history === undefined || list === undefined) {
    return fail(`There is no integration ${id} whose history can be read.`);
  }
  const now = new Date();
  if (!canBeginAt(new Date(from), now)) {
    return fail(`--from must lie between ${utcDay(limits.eventEarliest)} and now.`);
  }
  if (file !== null && history.byIds === undefined) {
    return fail(`${integration.provider} lists its history by itself: it takes no --ids.`);
  }
  const ids = file === null ? [] : idsIn(file);
  if (typeof ids === "string") return fail(ids);
  const { workspace } = integration;
  const { listedMs } = history.byIds ?? {};
  const begun = { workspace, integration: id, from: new Date(from), list: list.name, ids };
  const given = { ...begun, ...(listedMs !== undefined && { listedMs }) };
  const made = await createBackfill(postgres, given, now);
  if (made === null) {
    const running = await findBackfill(postgres, id);
    const since = running === null ? "" : `, from ${utcDay(running.from.getTime())}`;
    const without = ids.length === 0 ? "" : " Its ids are not these: ask again after it.";
    report(`A backfill is still running${since}: continuing it.${without}`);
  }
  return follow(service, id, history.missing, { startProcessors, report });
}

/** @returns a text where they cannot be had: why */
function idsIn(file: string): string[] | string {
  if (!existsSync(file)) return `There is no file ${file}.`;
  if (statSync(file).size > idsFileBytesMax) return `${file} is too large for a list of ids.`;
  const lines = readFileSync(file, "utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/);
  const parsed = newBackfill.shape.ids.safeParse(lines.filter((line) => line.trim() !== ""));
  if (parsed.success) return parsed.data ?? [];
  const [issue] = parsed.error.issues;
  const [place] = issue?.path ?? [];
  const which = typeof place === "number" ? `id ${place + 1}` : "the list";
  return `${file}: ${which} is wrong: ${issue?.message}. One id a line, without spaces.`;
}

/** Until it ends. @returns as `backfill` */
export async function follow(
  service: Service,
  id: string,
  missing: readonly string[],
  { startProcessors, report }: BackfillSteps,
): Promise<number> {
  await startProcessors(service);
  let reported = "";
  for (;;) {
    const current = await findBackfill(service.postgres, id);
    if (current === null) throw new Error(`the backfill of ${id} is gone`);
    const line = lineOf(current);
    if (line !== reported) report(line);
    reported = line;
    const { state } = current;
    if (state !== "reading" && state !== "comparing") return reportEnd(current, missing, report);
    await pause(lookEveryMs);
  }
}

function lineOf(current: Backfill): string {
  const { state, list, counts, problem } = current;
  const read = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  const what = read.length === 0 ? "" : ` (${read.join(", ")})`;
  const {
    months,
    months_done: done = null,
    list_seconds_left: left = null,
  } = progressOf(current) ?? {};
  const far = done === null ? "" : `, ${done} of ${months} months`;
  const time = left === null ? "" : `, about ${Math.ceil(left / 60)} min left in this list`;
  return `${state} ${list}${what}${far}${time}${problem === null ? "" : `: ${problem}`}`;
}

function reportEnd(
  { state, comparison }: Backfill,
  missing: readonly string[],
  report: (line: string) => void,
): number {
  if (state !== "failed") for (const sentence of missing) report(`Cannot be had: ${sentence}`);
  for (const { month, currency, listed, booked } of comparison ?? []) {
    const sums = (side: ComparedMonth["listed"]): string =>
      `${side.count} payments, ${major(side.amount, currency)} paid, ` +
      `${major(side.refunded, currency)} refunded`;
    const differs = JSON.stringify(listed) !== JSON.stringify(booked);
    const line = `${month} ${currency}  listed: ${sums(listed)}`;
    report(differs ? `${line}  BOOKED: ${sums(booked)}` : `${line}  booked: the same`);
  }
  if (state === "failed") return 2;
  return state === "done" ? 0 : 1;
}

function major(amountMinor: string, currency: string): string {
  return minorToMajor(BigInt(amountMinor), knownExponentOf(currency));
}
