/**
 * What `/mcp` asks of its own process for an assistant: each of its calls has a token that counts
 * while the call runs, and only here.
 */
import { randomBytes } from "node:crypto";
import { unauthenticated } from "../schemas/http/errors.js";
import type { AssistantCaller } from "../workspaces/assistants/assistants.js";

export const lentPrefix = "lent_";

const lent = new Map<string, AssistantCaller>();

export async function lending<T>(
  caller: AssistantCaller,
  run: (token: string) => Promise<T>,
): Promise<T> {
  const token = `${lentPrefix}${randomBytes(32).toString("base64url")}`;
  lent.set(token, caller);
  try {
    return await run(token);
  } finally {
    lent.delete(token);
  }
}

/** @throws ApiError 401 */
export function borrower(token: string): AssistantCaller {
  const caller = lent.get(token);
  if (caller === undefined) throw unauthenticated("token_invalid", "This token does not exist.");
  return caller;
}
