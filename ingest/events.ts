/**
 * `POST /v1/events/ingest`: the endpoint for events sent with an API key, one at a time or a batch
 * (`spec.md` 4.5; `definitions.md`, Ingest, Batch, Idempotency).
 */
import type { Context, Middleware } from "koa";
import { settledAfter } from "../stores/watermark/in-flight-receipts.js";
import { readBytes, requireContentType } from "../http/body.js";
import { ApiError, malformed, unavailable } from "../schemas/http/errors.js";
import { Room } from "../http/in-flight-quota.js";
import { refuseParameters } from "../http/query.js";
import { accessOf } from "../http/state.js";
import type { Access } from "../workspaces/keys.js";
import { limits } from "../config.js";
import type { IngestAnswer } from "../schemas/http/ingest.js";
import { batchSources, ingestBatch } from "./batch.js";
import { claimOf, identityConflict, resume } from "./event.js";
import type { Line, Source } from "./lines.js";
import { stamped } from "./stamped.js";
import { type IngestEndpoint, appendSealed } from "./append-sealed.js";

export function ingestRoute(endpoint: IngestEndpoint): Middleware {
  // Each batch is in memory until it is answered. One workspace gets half of the room at most, so
  // that its slow uploads leave others theirs.
  const room = new Room(
    { all: limits.batchesBytesMax, perWorkspace: limits.batchesPerWorkspaceBytesMax },
    (isOwn) => {
      const which = isOwn ? "Your other" : "Other";
      return unavailable("batches_busy", `${which} batches are on their way; call again.`);
    },
  );
  return async (ctx: Context) => {
    refuseParameters(ctx);
    const type = requireContentType(ctx, "application/json", "application/x-ndjson");
    if (type === "application/json") return receive(ctx, false);
    // The announced length; the maximum where none is announced.
    const announced = Number(ctx.req.headers["content-length"] ?? limits.batchBytesMax);
    const size = Math.min(announced, limits.batchBytesMax);
    const leave = room.enter(accessOf(ctx).workspace, size);
    try {
      await receive(ctx, true);
    } finally {
      leave();
    }
  };

  async function receive(ctx: Context, isBatch: boolean): Promise<void> {
    const key = idempotencyKey(ctx);
    const bytes = await readBytes(ctx, isBatch ? limits.batchBytesMax : limits.bodyBytesMax);
    const access = accessOf(ctx);
    try {
      const sources = isBatch ? batchSources(bytes, key) : [oneSource(bytes, key)];
      // Stamped after the last byte, since `complete_to` waits for stamped calls: a slow caller
      // must not hold up others' figures.
      const { receipt, lines } = await stamped(endpoint, access, sources);
      await settledAfter(receipt, async () => {
        if (isBatch) {
          await ingestBatch(endpoint, access, key, { body: bytes, lines }, ctx);
        } else {
          const reported = await ingestOne(endpoint, access, key, lines[0]);
          if (reported.replayed) ctx.set("Idempotent-Replayed", "true");
          ctx.status = 202;
          ctx.body = reported.answer;
        }
      });
    } catch (error) {
      const verdict = error instanceof ApiError ? error.code : "error";
      endpoint.service.metrics.ingested.inc({ verdict });
      throw error;
    }
  }
}

function oneSource(bytes: Buffer, key: string | null): Source {
  return {
    bytes,
    ownIdentity: key === null ? null : `idempotency-key:${key}`,
    identitiesOf: ({ identities }) => [...identities, ...keyIdentities(key)],
  };
}

function keyIdentities(key: string | null): readonly string[] {
  return key === null ? [] : [`key:${key}`];
}

async function ingestOne(
  { service, receipts }: IngestEndpoint,
  access: Access,
  key: string | null,
  planned: Line | undefined,
): Promise<{ readonly answer: IngestAnswer; readonly replayed: boolean }> {
  // 1. Read the event and work out its answer. Errors are answered now, and claim nothing.
  if (planned === undefined) throw new Error("a call without an event");
  if (planned instanceof ApiError) throw planned;

  // 2. Claim its identities: of two equal calls one is first, and the other gets its answer.
  const claim = claimOf(planned, keyIdentities(key));
  const anonymous = claim.identities.length === 0;
  const [claimed] = anonymous
    ? [{ outcome: "fresh" as const }]
    : await receipts.claim(access, [claim]);
  if (claimed === undefined) throw new Error("a claim without an outcome");
  if (claimed.outcome === "conflict") throw identityConflict(claimed.identity);
  const replayed = claimed.outcome === "repeat";
  const event = replayed ? resume(planned, claimed.answer) : planned;

  // 3. Durable in the log, before anything is promised. A claim that was never marked durable may
  // have been appended or not; appending again is safe, because booking ignores the repeat.
  if (claimed.outcome === "fresh" || !claimed.durable) {
    await appendSealed(service, [event.taken]);
    await receipts.markDurable(access, claim.identities);
  }
  service.metrics.ingested.inc({ verdict: replayed ? "replayed" : "taken" });

  // 4. The answer; a repeat gets the first one again, to the last digit.
  return { answer: event.answer, replayed };
}

/** @throws ApiError 400 */
function idempotencyKey(ctx: Context): string | null {
  const given = ctx.req.headers["idempotency-key"];
  if (given === undefined) return null;
  const key = Array.isArray(given) ? given.join(", ") : given;
  if (key.length === 0 || key.length > limits.idempotencyKeyLengthMax) {
    throw malformed(
      "idempotency_key_invalid",
      `An Idempotency-Key has 1 to ${limits.idempotencyKeyLengthMax} characters.`,
      "Idempotency-Key",
    );
  }
  return key;
}
