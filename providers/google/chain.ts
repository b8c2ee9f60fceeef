/**
 * Which account a purchase belongs to: the first purchase of its chain (`definitions.md`,
 * Providers). Each purchase names the one it replaces (`linkedPurchaseToken`), but Google answers
 * for a purchase only until 60 days after its end: so what was found is kept, and stays.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { KeptObject, Known } from "../provider.js";
import { apiName } from "./notification.js";
import { subscriptionPath } from "./paths.js";

/** Purchases asked back in one go; a longer chain is known from its earlier notifications. */
const linksMax = 6;

export interface Chain {
  /** The purchase itself, then the one it replaced, and so on, as far as the answers go. */
  readonly tokens: readonly string[];
  /** The first token; null while the API has to be asked about the last of `tokens`. */
  readonly account: string | null;
  /**
   * What was replaced further back, as the first reading found it: the purchases between may have
   * been reported by no notification, which would have ended these.
   */
  readonly before: readonly string[];
}

export function chainOf(packageName: string, token: string, known: Known): Chain {
  const tokens = [token];
  for (let links = 0; links < linksMax; links += 1) {
    const current = tokens[links] ?? token;
    const kept = keptShape.safeParse(known.kept.get(keptId(current)));
    if (kept.success) {
      const { first: account, before } = kept.data;
      return { tokens, account, before: links === 0 ? before : tokens.slice(2) };
    }
    const answer = known.answers.get(subscriptionPath(packageName, current));
    if (answer === undefined) return { tokens, account: null, before: [] };
    const linked = linkShape.safeParse(answer).data?.linkedPurchaseToken ?? null;
    if (linked === null || tokens.includes(linked)) {
      return { tokens, account: current, before: tokens.slice(2) };
    }
    tokens.push(linked);
  }
  return { tokens, account: tokens.at(-1) ?? token, before: tokens.slice(2) };
}

/** The first finding stays, however much of the chain is still answered later. */
const reportedFirst = 0;

export function keptChain({ tokens, account, before }: Chain): KeptObject[] {
  if (account === null) return [];
  return tokens.map((token, index) => ({
    id: keptId(token),
    reportedAt: reportedFirst,
    refers: [],
    object: { first: account, before: index === 0 ? before : [] },
  }));
}

export function keptId(token: string): string {
  return `chain:${digestOf(token)}`;
}

/** Who has the token may ask for the purchase: it is not written where others read. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

const keptShape = z.object({ first: apiName, before: z.array(apiName) });
const linkShape = z.object({ linkedPurchaseToken: apiName.nullish() });
