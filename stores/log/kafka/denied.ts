/**
 * A right that was taken away from a running process: logged as a sentence, and rarely, since only
 * a person can help; the request is repeated as rarely.
 */
import { isNotAllowed, kafkaErrorType } from "./connection.js";
import type { Logger } from "../../../runtime/logger.js";

const deniedPauseMs = 10_000;

/** What was attempted; names on Kafka. */
export interface Attempt {
  readonly right: "Read" | "Write";
  readonly topic: string;
  readonly groupId?: string;
}

/** Null: it is another error. */
export function denialOf(error: unknown, { right, topic, groupId }: Attempt): string | null {
  if (!isNotAllowed(error)) return null;
  const isGroup = kafkaErrorType(error) === "GROUP_AUTHORIZATION_FAILED";
  const place = isGroup ? `group ${groupId}` : `topic ${topic}`;
  return `Kafka does not give this user the right ${right} on the ${place} any more`;
}

/** @param otherwise what follows from any other error */
export function reportFailure(
  logger: Logger,
  error: unknown,
  attempt: Attempt,
  otherwise: string,
): void {
  const { topic, groupId } = attempt;
  const denial = denialOf(error, attempt);
  if (denial === null) logger.warn({ err: error, topic, groupId }, otherwise);
  else logger.error({ topic, groupId }, denial);
}

export function pauseAfter(error: unknown, pauseMs: number): number {
  return isNotAllowed(error) ? deniedPauseMs : pauseMs;
}
