/** What every read route does: look at the clocks first, then run its queries. */
import { unprocessable } from "../../http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../runtime/service.js";
import type { Figures } from "../../watermark/watermark.js";
import type { Clocks } from "./as-of.js";
import type { Query } from "./query.js";

/**
 * Before any table is read: the tables then hold at least what `completeTo` promises.
 * @param figures what the answer reports: money alone is complete sooner than MRR
 */
export async function clocksOf(
  service: Pick<Service, "watermark">,
  { workspace }: Pick<Access, "workspace">,
  figures: Figures = "all",
): Promise<Clocks> {
  return { completeTo: await service.watermark.completeTo(figures, workspace), now: Date.now() };
}

/** @throws ApiError 422: swapped, `from` and `to` would look like a time without anything */
export function checkRange(range: {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}): void {
  const { from, to } = range;
  if (from !== undefined && to !== undefined && from > to) {
    throw unprocessable("range_backwards", "from must not lie after to.", "from");
  }
}

export function completeText(clocks: Pick<Clocks, "completeTo">): string {
  return new Date(clocks.completeTo).toISOString();
}

export function rowsOf<Row>(service: Pick<Service, "clickhouse">, query: Query): Promise<Row[]> {
  return service.clickhouse.rows<Row>(query.sql, query.params);
}
