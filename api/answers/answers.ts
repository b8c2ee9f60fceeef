/**
 * Turns rows of the store into the bytes of an answer. With many rows this would delay every other
 * call, so it is pure and any thread can do it (`writer.ts`).
 */
import type { ExportFormat } from "../../schemas/http/formats.js";
import { cohortsAnswer } from "../cohorts/answer.js";
import { formats } from "../exports/formats.js";
import { type Presented, type Written, writtenTable } from "../exports/send.js";
import { movementsAnswer } from "../movement-series/answer.js";
import { revenueAnswer } from "../revenue/answer.js";
import { summaryAnswer } from "../summary/answer.js";

const answers = { cohortsAnswer, movementsAnswer, revenueAnswer, summaryAnswer } as const;

type Name = keyof typeof answers;

/** What an answer is made of; it can be sent to another thread. */
export type Ingredients = {
  [Each in Name]: { readonly answer: Each } & Parameters<(typeof answers)[Each]>[0];
}[Name];

export interface AnswerMoments {
  readonly at: string;
  readonly complete_to: string;
}

/** @throws ApiError 422 when there are too many rows */
export function writeIngredients(
  ingredients: Ingredients,
  format: ExportFormat | null,
  moments: AnswerMoments,
): Written {
  return written(present(ingredients), format, moments);
}

function present(given: Ingredients): Presented {
  switch (given.answer) {
    case "cohortsAnswer":
      return cohortsAnswer(given);
    case "movementsAnswer":
      return movementsAnswer(given);
    case "revenueAnswer":
      return revenueAnswer(given);
    case "summaryAnswer":
      return summaryAnswer(given);
    default:
      return given satisfies never;
  }
}

export function written(
  { data, table }: Presented,
  extension: ExportFormat | null,
  moments: AnswerMoments,
): Written {
  const format = formats.find((each) => each.extension === extension);
  if (format === undefined) {
    const json = JSON.stringify({ status: "success", data, ...moments });
    return { body: Buffer.from(`${json}\n`), table: null };
  }
  return writtenTable(format, ...table());
}
