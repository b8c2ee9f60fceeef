/**
 * A batch: one event a line, one answer a line, in order. Sizes are checked before anything is
 * taken; then good lines are taken though others are bad (`definitions.md`, Batch).
 */
import { createHash } from "node:crypto";
import type { Context } from "koa";
import { ApiError, errorEnvelope, tooLarge, unprocessable } from "../backends/http/errors.js";
import type { Claimed } from "../backends/receipts.js";
import { limits } from "../config.js";
import { inTurns, splitLines } from "./batch-lines.js";
import {
  type IngestCall,
  type PlannedEvent,
  claimOf,
  identityConflict,
  planEvent,
  resume,
} from "./event.js";
import type { IngestDoor } from "./events.js";
import { keptAnswer } from "./kept-answer.js";
import { take } from "./take.js";

export async function ingestBatch(
  door: IngestDoor,
  call: Omit<IngestCall, "ownIdentity">,
  key: string | null,
  body: Buffer,
  ctx: Context,
): Promise<void> {
  const { service, receipts } = door;
  const { access } = call;

  // 1. All of it is here; it is within bounds too, before anything is taken.
  const lines = splitLines(body);
  if (lines.length === 0) throw unprocessable("batch_empty", "The batch has no lines.");
  if (lines.length > limits.batchLinesMax) {
    throw unprocessable("batch_too_long", `A batch has at most ${limits.batchLinesMax} lines.`);
  }

  // 2. The Idempotency-Key covers the batch as a whole: other bytes under it are refused.
  const batchClaim = key === null ? null : wholeBatch(key, body);
  const [whole] = batchClaim === null ? [] : await receipts.claim(access, [batchClaim]);
  if (whole?.outcome === "conflict") throw identityConflict(whole.identity);
  if (whole?.outcome === "repeat" && whole.durable) ctx.set("Idempotent-Replayed", "true");

  // 3. Each line on its own: read, or its error.
  const planned: Line[] = [];
  for await (const bytes of inTurns(lines)) {
    // The number first, and another word than for one event: no key reads as another's line.
    const line = planned.length + 1;
    const ownIdentity = key === null ? null : `idempotency-key-line:${line}:${key}`;
    planned.push(planLine({ ...call, ownIdentity }, bytes));
  }

  // 4. All are claimed. Of lines that say the same event the first is taken, the rest repeat it.
  const outcomes = await claimLines(door, call, planned);

  // 5. One append: all of it durable, or 503 and the same batch again.
  const taken = outcomes.filter((outcome) => "event" in outcome && outcome.append);
  const events = taken.flatMap((outcome) => ("event" in outcome ? [outcome.event] : []));
  if (events.length > 0) {
    await take(
      service,
      events.map((event) => event.taken),
    );
  }
  const durable = [...events.flatMap(identitiesOf), ...(batchClaim?.identities ?? [])];
  if (durable.length > 0) await receipts.markDurable(access, durable);

  // 6. An answer for each line, in order.
  ctx.status = 200;
  ctx.type = "application/x-ndjson";
  ctx.body = outcomes.map((outcome, index) => answerLine(door, outcome, index, ctx)).join("");
}

type Line = PlannedEvent | ApiError;

type Outcome =
  | { readonly error: ApiError }
  | { readonly event: PlannedEvent; readonly append: boolean; readonly replayed: boolean };

function wholeBatch(key: string, body: Buffer) {
  const bodyHash = createHash("sha256").update("batch\n").update(body).digest();
  return { identities: [`key:${key}`], bodyHash, answer: null };
}

function planLine(call: IngestCall, bytes: Buffer): Line {
  try {
    if (bytes.length > limits.bodyBytesMax) {
      throw tooLarge(`The line has more than ${limits.bodyBytesMax} bytes.`);
    }
    return planEvent(call, bytes);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** What a line is claimed by: its event's id, else its place under the Idempotency-Key. */
function identitiesOf({ identities, taken }: PlannedEvent): readonly string[] {
  if (identities.length > 0) return identities;
  const { native_id: nativeId } = taken.meta;
  return nativeId.startsWith("drawn:") ? [] : [`line:${nativeId}`];
}

async function claimLines(
  { receipts }: IngestDoor,
  { access }: Omit<IngestCall, "ownIdentity">,
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
    const event = resume(line, keptAnswer(claimed.answer));
    return { event, append: line === first && !claimed.durable, replayed: true };
  }
  const isFirst = line === first;
  return { event: isFirst ? line : first, append: isFirst, replayed: !isFirst };
}

function answerLine(
  { service }: IngestDoor,
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
