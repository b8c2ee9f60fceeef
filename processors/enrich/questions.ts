/**
 * What an adapter needs beside the event (`providers/provider.ts`): answers of the provider's API,
 * asked round by round until no question is open, and objects that the event, or an answer, names
 * without their content, because other events reported them whole.
 */
import { parseJsonText } from "../../schemas/parse.js";
import { absentFreshMsMax } from "../../providers/api/fresh-answers.js";
import type { Asker } from "../../providers/api/provider-api.js";
import { limits } from "../../config.js";
import type { Known, Provider, Question, KeptObject } from "../../providers/provider.js";
import type { Environment, RawEventMeta } from "../../schemas/records/records.js";
import type { NormalizingService, Opened } from "../normalize/outcome.js";

type Importance = Question["importance"];

export interface Answered {
  /** JSON text by path; null: the API has no such thing. */
  readonly answers: ReadonlyMap<string, string | null>;
  /** Why an answer is missing that may come later, for a person. */
  readonly trouble: string | null;
  /** Why the API will not answer with these credentials. */
  readonly refusal: string | null;
}

/**
 * @param signal ends the asking; what is open then is trouble
 * @throws when kept objects that the answers name cannot be read
 */
export async function askAll(
  { apis, objects }: Pick<NormalizingService, "apis" | "objects">,
  asker: Asker,
  opened: Opened,
  importance: Importance,
  given: ReadonlyMap<string, string | null>,
  signal: AbortSignal,
): Promise<Answered> {
  const answers = new Map(given);
  const closed = new Set<string>();
  let trouble: string | null = null;
  let refusal: string | null = null;
  for (let round = 0; round < limits.enrichmentRoundsMax; round += 1) {
    const parsed = parsedAnswers(answers);
    const named = await withNamed({ objects }, opened, parsed);
    const open = questionsOf(named, parsed, importance).filter(
      ({ path }) => !answers.has(path) && !closed.has(path),
    );
    if (open.length === 0) return { answers, trouble, refusal };
    if (answers.size + closed.size + open.length > limits.enrichmentQuestionsMax) break;
    const asked = await Promise.all(open.map((question) => apis.ask(asker, question, signal)));
    for (const [index, answer] of asked.entries()) {
      const path = open[index]?.path ?? "";
      if (answer.outcome === "silent") return { answers, trouble: null, refusal: null };
      if (answer.outcome === "answered") answers.set(path, answer.text);
      else closed.add(path);
      if (answer.outcome === "trouble") trouble ??= answer.detail;
      if (answer.outcome === "refused") refusal ??= answer.detail;
    }
  }
  return { answers, trouble, refusal: refusal ?? "it leads to more questions than one event may" };
}

export function parsedAnswers(
  answers: ReadonlyMap<string, string | null>,
): ReadonlyMap<string, unknown> {
  const parsed = new Map<string, unknown>();
  for (const [path, text] of answers) {
    const read = text === null ? null : parseJsonText(text);
    // An answer that is no JSON, or too deep, counts as missing.
    if (read === null || read.ok) parsed.set(path, read === null ? null : read.value);
  }
  return parsed;
}

export function asksNeeded(opened: Opened): boolean {
  return questionsOf(opened, opened.known.answers, "required").length > 0;
}

/**
 * Whether the integration's credentials allow questions; or once did, and the answers are kept for
 * a replay.
 */
export async function mayBeAnswered(
  { integrations, answersKept }: Pick<NormalizingService, "integrations" | "answersKept">,
  provider: Provider | null,
  { workspace, integration }: Pick<RawEventMeta, "workspace" | "integration">,
): Promise<boolean> {
  if (integration === null || provider?.api === undefined) return false;
  const found = await integrations.byId(integration);
  if (found !== null && provider.api.allowsCalls(found.credentials[0])) return true;
  return answersKept(workspace);
}

/**
 * Whether asking could bring something that was not published recently.
 * @param environment of the event; an answer of the API may have decided it
 */
export function hasNewQuestions(
  { reported }: Pick<NormalizingService, "reported">,
  opened: Opened,
  environment: Environment,
  answers: ReadonlyMap<string, unknown>,
): boolean {
  const { integration } = opened.event;
  if (integration === null) return false;
  return questionsOf(opened, answers, "optional").some(
    (question) =>
      !answers.has(question.path) &&
      !(question.sameForAll === true && reported.has({ integration, environment }, question)),
  );
}

/** Questions whose answers are the same for all events, once these are published. */
export function answeredForAll(opened: Opened, answers: ReadonlyMap<string, unknown>): Question[] {
  return questionsOf(opened, answers, "optional")
    .filter(({ path, sameForAll }) => sameForAll === true && answers.has(path))
    .map((question) => {
      const { path, freshForMs } = question;
      if (answers.get(path) !== null) return question;
      return { ...question, freshForMs: Math.min(freshForMs, absentFreshMsMax) };
    });
}

function questionsOf(
  { provider, event, body, known }: Opened,
  answers: ReadonlyMap<string, unknown>,
  importance: Importance,
): Question[] {
  if (provider?.asks === undefined || event.integration === null) return [];
  const all: Known = { ...known, answers };
  const asked = provider.asks(body, all).filter((question) => question.importance === importance);
  return [...new Map(asked.map((question) => [question.path, question])).values()];
}

/**
 * Objects that an event, or an answer of its provider's API, names without their content, because
 * other events reported them whole (`providers/provider.ts`, KeptObject).
 */
type KeepingService = Pick<NormalizingService, "objects" | "keptNews">;

/** Reads them from what earlier events reported. */
export async function keptFor(
  service: KeepingService,
  provider: Provider | null,
  event: RawEventMeta,
  body: unknown,
): Promise<ReadonlyMap<string, unknown>> {
  await keep(service, event, provider?.keeps?.(body) ?? []);
  const needed = provider?.needs?.(body) ?? [];
  return needed.length === 0 ? new Map() : service.objects.recall(event, needed);
}

/** Adds the kept objects that only the answers name. */
export async function withNamed(
  { objects }: Pick<KeepingService, "objects">,
  opened: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<Opened> {
  const { provider, event, body, known } = opened;
  if (answers.size === 0 || provider?.needs === undefined) return opened;
  const ids = provider.needs(body, { ...known, answers }).filter((id) => !known.kept.has(id));
  if (ids.length === 0) return opened;
  const more = await objects.recall(event, ids);
  return { ...opened, known: { ...known, kept: new Map([...known.kept, ...more]) } };
}

/** Keeps what later events need of the answers. */
export async function keepAnswered(
  service: KeepingService,
  { provider, event, body, known }: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<void> {
  await keep(service, event, provider?.keepsAnswered?.(body, { ...known, answers }) ?? []);
}

/** After a failure some may be kept without notice, so news of them is reported anyway. */
async function keep(
  { objects, keptNews }: KeepingService,
  event: RawEventMeta,
  reported: readonly KeptObject[],
): Promise<void> {
  if (reported.length === 0) return;
  let isNews = true;
  try {
    isNews = await objects.keep(event, reported);
  } finally {
    if (isNews) keptNews(event.workspace);
  }
}
