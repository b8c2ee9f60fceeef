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
import { time } from "./reading.js";

/** Purchases asked back in one go; a longer chain is known from its earlier notifications. */
const linksMax = 6;

export interface Chain {
  /** The purchase itself, then the one it replaced, and so on, as far as the answers go. */
  readonly tokens: readonly string[];
  /** The first token; null while the API has to be asked about the last of `tokens`. */
  readonly account: string | null;
  /** What purchases between ended, which perhaps no notification told. */
  readonly ended: readonly Ended[];
}

/** A purchase and when another took its place, ms since 1970. */
export interface Ended {
  readonly token: string;
  readonly at: number;
}

export function chainOf(packageName: string, token: string, known: Known): Chain {
  const tokens = [token];
  const ended: Ended[] = [];
  for (let links = 0; links < linksMax; links += 1) {
    const current = tokens[links] ?? token;
    const kept = keptShape.safeParse(known.kept.get(keptId(current)));
    if (kept.success) {
      return { tokens, account: kept.data.first, ended: [...ended, ...kept.data.ended] };
    }
    const answer = known.answers.get(subscriptionPath(packageName, current));
    if (answer === undefined) return { tokens, account: null, ended };
    const { linkedPurchaseToken: linked, startTime: at } = linkShape.safeParse(answer).data ?? {};
    if (!linked || tokens.includes(linked)) return { tokens, account: current, ended };
    // Its own notification tells what the purchase itself ended.
    if (links > 0 && typeof at === "number") ended.push({ token: linked, at });
    tokens.push(linked);
  }
  return { tokens, account: tokens.at(-1) ?? token, ended };
}

/** The first finding stays, however much of the chain is still answered later. */
const toldFirst = 0;

export function keptChain({ tokens, account, ended }: Chain): KeptObject[] {
  if (account === null) return [];
  return tokens.map((token, index) => ({
    id: keptId(token),
    toldAt: toldFirst,
    refers: [],
    object: { first: account, ended: index === 0 ? ended : [] },
  }));
}

export function keptId(token: string): string {
  return `chain:${digestOf(token)}`;
}

/** Who has the token may ask for the purchase: it is not written where others read. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

const keptShape = z.object({
  first: apiName,
  ended: z.array(z.object({ token: apiName, at: z.number() })).default([]),
});
const linkShape = z.object({
  linkedPurchaseToken: apiName.nullish(),
  startTime: time.nullish().catch(null),
});
