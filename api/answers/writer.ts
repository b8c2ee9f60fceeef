/**
 * Writes long answers in a thread of their own, so that the event loop can take webhooks. Short
 * ones are written at once, because starting and feeding the thread takes longer.
 */
import { Worker } from "node:worker_threads";
import { unavailable, unprocessable } from "../../schemas/http/errors.js";
import type { ExportFormat } from "../../schemas/http/formats.js";
import type { Written } from "../exports/send.js";
import { type AnswerMoments, type Ingredients, writeIngredients } from "./answers.js";

/** Written at once: some milliseconds. */
const shortCharactersMax = 32 * 1024;
/** An interval without a row is a row of the answer, too. */
const charactersPerInterval = 200;
/** An idle thread is ended, because it holds some 50 MiB. */
const idleMsMax = 60_000;

export interface Task {
  readonly id: number;
  readonly ingredients: Ingredients;
  readonly format: ExportFormat | null;
  readonly moments: AnswerMoments;
}

export type Outcome = { readonly id: number } & (
  | { readonly written: Written }
  | { readonly refused: { readonly code: string; readonly message: string; param?: string } }
  | { readonly error: unknown }
);

interface Waiting {
  resolve(written: Written): void;
  reject(error: unknown): void;
}

export class AnswerWriter {
  #thread: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #ids = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** @throws ApiError 422 when there are too many rows */
  async write(
    ingredients: Ingredients,
    format: ExportFormat | null,
    moments: AnswerMoments,
  ): Promise<Written> {
    if (weightOf(ingredients) <= shortCharactersMax) {
      return writeIngredients(ingredients, format, moments);
    }
    const thread = this.#open();
    return new Promise((resolve, reject) => {
      const task: Task = { id: this.#ids++, ingredients, format, moments };
      this.#waiting.set(task.id, { resolve, reject });
      thread.postMessage(task, []);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#thread?.terminate();
  }

  #open(): Worker {
    clearTimeout(this.#idle);
    if (this.#thread !== null) return this.#thread;
    const thread = new Worker(new URL("./thread.js", import.meta.url));
    thread.on("message", (outcome: Outcome) => this.#settle(outcome));
    // It ends by itself only when it is out of memory, and its pending answers with it.
    thread.on("error", (error) => this.#end(thread, error));
    thread.on("exit", () => this.#end(thread, new Error("the thread has ended")));
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.get(outcome.id);
    this.#waiting.delete(outcome.id);
    if (this.#waiting.size === 0) {
      this.#idle = setTimeout(() => this.#endIdle(), idleMsMax).unref();
    }
    if ("written" in outcome) return waiting?.resolve(outcome.written);
    if ("error" in outcome) return waiting?.reject(outcome.error);
    const { code, message, param } = outcome.refused;
    waiting?.reject(unprocessable(code, message, param));
  }

  /** The next answer starts another thread, even if this one has not ended by then. */
  #endIdle(): void {
    void this.#thread?.terminate();
    this.#thread = null;
  }

  #end(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    const message = "The answer could not be written now; ask for a shorter time, or again.";
    const error = unavailable("answer_unwritten", message, 1, cause);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

/** About the length of the rows that come of it. */
function weightOf(ingredients: Ingredients): number {
  switch (ingredients.answer) {
    case "cohortsAnswer":
      return [ingredients.asked, ingredients.compared]
        .filter((one) => one !== null && one !== undefined)
        .reduce((sum, { changes, gross }) => sum + changes.length + (gross?.length ?? 0), 0);
    case "movementsAnswer":
      return [ingredients.asked, ingredients.compared]
        .filter((one) => one !== null && one !== undefined)
        .reduce((sum, { sums, series }) => sum + sums.length + intervalsOf(series), 0);
    case "revenueAnswer":
      return [ingredients.asked, ingredients.compared]
        .filter((one) => one !== null && one !== undefined)
        .reduce((sum, { sums, reported, series }) => {
          return sum + sums.length + reported.length + intervalsOf(series);
        }, 0);
    case "summaryAnswer":
      return [ingredients.asked, ingredients.compared]
        .filter((one) => one !== null && one !== undefined)
        .reduce((sum, { sums, period }) => sum + sums.length + intervalsOf(period.series), 0);
    default:
      return ingredients satisfies never;
  }
}

function intervalsOf(series: { readonly parts: readonly unknown[] } | null): number {
  return (series?.parts.length ?? 0) * charactersPerInterval;
}
