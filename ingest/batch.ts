/**
 * A batch: one event a line, one answer a line, in order. Sizes are checked before anything is
 * taken; then good lines are taken even if others are bad (`definitions.md`, Batch).
 */
import { createHash } from "node:crypto";
import type { Context } from "koa";
import { ApiError, errorEnvelope, unprocessable } from "../schemas/http/errors.js";
import type { Access } from "../workspaces/keys.js";
import type { Logger } from "../runtime/logger.js";
import type { Claimed } from "./idempotency.js";
import { limits } from "../config.js";
import { type Line, type Source, splitLines } from "./lines.js";
import { type PlannedEvent, type ReadEvent, claimOf, identityConflict, resume } from "./event.js";
import { type IngestEndpoint, appendSealed } from "./append-sealed.js";

/** @throws ApiError when the whole is beyond the limits, before anything is taken */
export function batchSources(body: Buffer, key: string | null): Source[] {
  const lines = splitLines(body);
  if (lines.length === 0) throw unprocessable("batch_empty", "The batch has no lines.");
  if (lines.length > limits.batchLinesMax) {
    throw unprocessable("batch_too_long", `A batch has at most ${limits.batchLinesMax} lines.`);
  }
  return lines.map((bytes, index) => ({
    bytes,
    // The number first, and another word than for one event, so that no key can equal another's
    // line.
    ownIdentity: key === null ? null : `idempotency-key-line:${index + 1}:${key}`,
    identitiesOf,
  }));
}

/** @param batch its bytes, and each line on its own: read, or its error */
export async function ingestBatch(
  endpoint: IngestEndpoint,
  access: Access,
  key: string | null,
  batch: { readonly body: Buffer; readonly lines: readonly Line[] },
  ctx: Context,
): Promise<void> {
  const { service, receipts } = endpoint;

  // 1. The Idempotency-Key covers the whole batch: other bytes under it are refused.
  const batchClaim = key === null ? null : wholeBatch(key, batch.body);
  const [whole] = batchClaim === null ? [] : await receipts.claim(access, [batchClaim]);
  if (whole?.outcome === "conflict") throw identityConflict(whole.identity);
  if (whole?.outcome === "repeat" && whole.durable) ctx.set("Idempotent-Replayed", "true");

  // 2. Claim all lines. Of lines with the same event the first is taken, the rest repeat it.
  const outcomes = await claimLines(endpoint, access, batch.lines);

  // 3. One append: all of it durable, or 503 and the same batch again.
  const taken = outcomes.filter((outcome) => "event" in outcome && outcome.append);
  const events = taken.flatMap((outcome) => ("event" in outcome ? [outcome.event] : []));
  if (events.length > 0) {
    await appendSealed(
      service,
      events.map((event) => event.taken),
    );
  }
  const durable = [...events.flatMap(identitiesOf), ...(batchClaim?.identities ?? [])];
  if (durable.length > 0) await receipts.markDurable(access, durable);

  reportFailures(service.logger, outcomes, ctx);

  // 4. An answer for each line, in order.
  ctx.status = 200;
  ctx.type = "application/x-ndjson";
  ctx.body = outcomes.map((outcome, index) => answerLine(endpoint, outcome, index, ctx)).join("");
}

type Outcome =
  | { readonly error: ApiError }
  | { readonly event: PlannedEvent; readonly append: boolean; readonly replayed: boolean };

function wholeBatch(key: string, body: Buffer) {
  const bodyHash = createHash("sha256").update("batch\n").update(body).digest();
  return { identities: [`key:${key}`], bodyHash, answer: null };
}

/** The identities that a line claims: its event's id, else its place under the Idempotency-Key. */
function identitiesOf({ identities, taken }: ReadEvent): readonly string[] {
  if (identities.length > 0) return identities;
  const { native_id: nativeId } = taken.meta;
  return nativeId.startsWith("drawn:") ? [] : [`line:${nativeId}`];
}

async function claimLines(
  { receipts }: IngestEndpoint,
  access: Access,
  lines: readonly Line[],
): Promise<Outcome[]> {
  const firstOf = new Map<string, PlannedEvent>();
  for (const line of lines) {
    const [identity] = line instanceof ApiError ? [] : identitiesOf(line);
    if (identity === undefined || line instanceof ApiError || firstOf.has(identity)) continue;
    firstOf.set(identity, line);
  }
  const claims = [...firstOf].map(([identity, line]) => ({
    ...claimOf(line, []),
    identities: [identity],
  }));
  const claimed = claims.length === 0 ? [] : await receipts.claim(access, claims);
  const outcomeOf = new Map([...firstOf.keys()].map((identity, at) => [identity, claimed[at]]));

  return lines.map((line): Outcome => {
    if (line instanceof ApiError) return { error: line };
    const [identity] = identitiesOf(line);
    if (identity === undefined) return { event: line, append: true, replayed: false };
    const outcome = outcomeOf.get(identity);
    const first = firstOf.get(identity);
    if (outcome === undefined || first === undefined) throw new Error("a line nobody claimed");
    return lineOutcome(line, first, identity, outcome);
  });
}

function lineOutcome(
  line: PlannedEvent,
  first: PlannedEvent,
  identity: string,
  claimed: Claimed,
): Outcome {
  if (claimed.outcome === "conflict" || !line.bodyHash.equals(first.bodyHash)) {
    return { error: identityConflict(identity) };
  }
  if (claimed.outcome === "repeat") {
    const event = resume(line, claimed.answer);
    return { event, append: line === first && !claimed.durable, replayed: true };
  }
  const isFirst = line === first;
  return { event: isFirst ? line : first, append: isFirst, replayed: !isFirst };
}

/** One log line for all: each of 10,000 may fail for the same reason. */
function reportFailures(
  logger: Logger,
  outcomes: readonly Outcome[],
  { state }: Pick<Context, "state">,
): void {
  const errors = outcomes.map((outcome) => ("error" in outcome ? outcome.error : null));
  const lines = errors.flatMap((error, at) => (error?.cause === undefined ? [] : [at + 1]));
  const [line] = lines;
  if (line === undefined) return;
  const where = { request_id: state.requestId, line, failed: lines.length };
  logger.error({ err: errors[line - 1], ...where }, "lines of a batch failed; this is the first");
}

function answerLine(
  { service }: IngestEndpoint,
  outcome: Outcome,
  index: number,
  ctx: Pick<Context, "state">,
): string {
  const line = index + 1;
  if ("error" in outcome) {
    service.metrics.ingested.inc({ verdict: outcome.error.code });
    return `${JSON.stringify({ line, ...errorEnvelope(outcome.error, ctx.state.requestId) })}\n`;
  }
  service.metrics.ingested.inc({ verdict: outcome.replayed ? "replayed" : "taken" });
  const replayed = outcome.replayed ? { idempotent_replayed: true } : {};
  return `${JSON.stringify({ line, ...outcome.event.answer, ...replayed })}\n`;
}
