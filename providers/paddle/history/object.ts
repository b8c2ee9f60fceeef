/** Objects of Paddle's lists, and times as Paddle writes them. */
import { z } from "zod";
import type { Ask } from "../../payouts.js";

export const object = z.looseObject({ id: z.string().min(1) });
export type HistoryObject = z.output<typeof object>;

/**
 * As long as Paddle likes. `cursor` says how to go on; null: it is the last. Paddle writes an
 * absolute URL, whose host is not ours to call.
 */
const pagination = z
  .object({ has_more: z.boolean(), next: z.string().nullish() })
  .transform(({ has_more: hasMore, next }, context) => {
    const url = next && URL.canParse(next) ? new URL(next) : null;
    const cursor = hasMore ? url?.searchParams.get("after") : null;
    if (cursor === undefined) context.addIssue({ code: "custom", message: "no cursor" });
    return { cursor: cursor ?? null };
  });

export function pageOf<Row>(row: z.ZodType<Row>) {
  return z.object({ data: z.array(row), meta: z.object({ pagination }) });
}

/** Of a list, page by page, newest first. */
export async function* all<Row>(
  ask: Ask,
  path: string,
  query: Readonly<Record<string, string>>,
  row: z.ZodType<Row>,
): AsyncIterable<Row> {
  const page = pageOf(row);
  let after: string | null = null;
  do {
    const asked = new URLSearchParams({ order_by: "id[DESC]", per_page: "200", ...query });
    if (after !== null) asked.set("after", after);
    const found: z.output<typeof page> | null = await ask(`${path}?${asked.toString()}`, page);
    if (found === null) return;
    yield* found.data;
    after = found.data.length === 0 ? null : found.meta.pagination.cursor;
  } while (after !== null);
}

export function rfc3339(atMs: number): string {
  return new Date(atMs).toISOString();
}
