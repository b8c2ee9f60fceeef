/**
 * Orders a purchase named while its items were paid for apart: what was kept of a plan or an add-on
 * until the next renewal pays for all. From then on Google names that one alone, and what was worth
 * what before could not be read again.
 */
import { z } from "zod";
import type { KeptObject, Known } from "../provider.js";
import { digestOf } from "./chain.js";
import { baseOf, latestOrdersOf, type Purchase } from "./purchase.js";

export function ordersId(token: string): string {
  return `orders:${digestOf(token)}`;
}

export function ordersNamedBefore(token: string, { kept }: Pick<Known, "kept">): string[] {
  return Object.keys(keptShape.safeParse(kept.get(ordersId(token))).data ?? {});
}

export function keptOrders(
  token: string,
  purchase: Purchase,
  known: Pick<Known, "kept">,
): KeptObject[] {
  const latest = latestOrdersOf(purchase);
  const before = new Set(ordersNamedBefore(token, known));
  const isApart = new Set(latest.map(baseOf)).size > 1;
  if (!isApart || latest.every((id) => before.has(id))) return [];
  const object = Object.fromEntries(latest.map((id) => [id, true]));
  return [{ id: ordersId(token), reportedAt: 0, refers: [], object, merges: true }];
}

const keptShape = z.record(z.string(), z.unknown());
