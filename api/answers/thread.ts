/** The thread of `writer.ts`: one answer after another, in the order of requests. */
import { parentPort } from "node:worker_threads";
import { ApiError } from "../../schemas/http/errors.js";
import { writeIngredients } from "./answers.js";
import { yieldToMainThread } from "../../runtime/thread-priority.js";
import type { Outcome, Task } from "./writer.js";

yieldToMainThread();

parentPort?.on("message", (task: Task) => {
  const outcome = outcomeOf(task);
  const bytes = "written" in outcome ? [bufferOf(outcome.written.body)] : [];
  parentPort?.postMessage(outcome, bytes);
});

function outcomeOf({ id, ingredients, format, moments }: Task): Outcome {
  try {
    const { body, table } = writeIngredients(ingredients, format, moments);
    // Transferred, not copied, so it must not share a buffer with others.
    return { id, written: { body: new Uint8Array(body), table } };
  } catch (error) {
    if (!(error instanceof ApiError)) return { id, error };
    const { code, message, param } = error;
    return { id, refused: { code, message, ...(param !== undefined && { param }) } };
  }
}

function bufferOf(body: Uint8Array): ArrayBuffer {
  if (body.buffer instanceof ArrayBuffer) return body.buffer;
  throw new Error("a buffer that is shared cannot be handed over");
}
