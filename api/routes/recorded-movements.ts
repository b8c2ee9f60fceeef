/** `GET /v1/mrr-movements`: MRR movements as they were recorded, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../backends/catalogue-view.js";
import { requireKey } from "../../backends/http/auth.js";
import { readQuery } from "../../backends/http/query.js";
import { accessOf } from "../../backends/http/state.js";
import type { Service } from "../../backends/service.js";
import { announcedLatest } from "../../schemas/fact-bounds.js";
import {
  type RecordedMovementsAnswer,
  recordedMovementsQueryParameters,
} from "../../schemas/http-recorded-movements.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { Cursors } from "../cursors.js";
import { allFormats, formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { openWalk } from "../pages.js";
import { presentRecordedMovement } from "../presenters/recorded-movement.js";
import {
  countRecordedMovements,
  readAllRecordedMovements,
  readRecordedMovements,
} from "../recorded-movement-pages.js";
import { clocksOf, completeText } from "./reading.js";

export function recordedMovementsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  router.get("/v1/mrr-movements", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const format = formatOf(ctx, allFormats);
    const query = readQuery(ctx, recordedMovementsQueryParameters);
    if (format !== null) refusePages(query);
    const clocks = await clocksOf(service, access);
    const isFirst = query.cursor === undefined;
    const { asOf, ...walk } = openWalk({
      endpoint: "mrr-movements",
      access,
      query: { ...query, at: query.at ?? (isFirst ? announcedLatest : undefined) },
      filters: {},
      // What is announced is recorded already.
      clocks: { ...clocks, now: announcedLatest },
      cursors,
      filtersSchema: z.object({}),
      positionSchema,
    });
    const { clickhouse } = service;
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const present = (row: RecordedMovementRow) =>
      presentRecordedMovement(row, catalogue, access.baseCurrency);
    if (format !== null) {
      return exports.send(ctx, format, {
        ...tables.recordedMovements,
        asOf,
        clocks,
        count: () => countRecordedMovements(clickhouse, asOf),
        async *pages() {
          for await (const rows of readAllRecordedMovements(clickhouse, asOf)) {
            yield rows.map(present);
          }
        },
      });
    }
    const page = await readRecordedMovements(clickhouse, asOf, walk.after, walk.limit);
    ctx.body = {
      status: "success",
      data: page.rows.map(present),
      pagination: walk.pagination(page.last),
      complete_to: completeText(clocks),
    } satisfies RecordedMovementsAnswer;
  });
}

const positionSchema = z.object({
  account: z.string(),
  at: z.number().int(),
  rows: z.number().int(),
});
