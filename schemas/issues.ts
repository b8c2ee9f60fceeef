/** What zod finds wrong, in words for whoever sent it. */
import { z } from "zod";

const missing = "is missing";

// For every shape there is, also those of alternatives, which zod tells by what else it expected.
z.config({ customError: ({ input }) => (input === undefined ? missing : undefined) });

/** @param path of the field, as it is shown */
export function issueText(path: string, { message }: Pick<z.core.$ZodIssue, "message">): string {
  return message === missing ? `${path} ${missing}` : `${path}: ${message}`;
}

export function isMissing({ message }: Pick<z.core.$ZodIssue, "message">): boolean {
  return message === missing;
}
