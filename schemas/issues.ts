/** Zod's issues in words for the sender. */
import { z } from "zod";

const missing = "is missing";

// For every shape there is, also those of alternatives, which zod reports by what else it expected.
z.config({ customError: (issue) => (issue.input === undefined ? missing : inWords(issue)) });

/** What people get wrong most; undefined: zod's own words. */
function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_value") return `must be one of: ${issue.values.join(", ")}`;
  if (issue.code === "too_small") return boundOf(issue.origin, "least", issue.minimum);
  if (issue.code === "too_big") return boundOf(issue.origin, "most", issue.maximum);
  return issue.code === "invalid_format" ? formats[issue.format] : undefined;
}

const formats: Readonly<Record<string, string>> = {
  date: "must be a day as 2026-01-31",
  datetime: "must be a date-time as 2026-01-31T12:00:00Z",
};

function boundOf(of: string, which: "least" | "most", bound: number | bigint): string {
  const unit = units[of];
  if (unit === undefined) return `must be at ${which} ${bound}`;
  if (which === "least" && bound === 1) return "must not be empty";
  return `must have at ${which} ${bound} ${unit}`;
}

/** What is counted; of all else the value itself is bounded. */
const units: Readonly<Record<string, string>> = { string: "characters", array: "entries" };

/** @param path of the field, as it is shown */
export function issueText(path: string, { message }: Pick<z.core.$ZodIssue, "message">): string {
  return message === missing ? `${path} ${missing}` : `${path}: ${message}`;
}
