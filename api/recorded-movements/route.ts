/** `GET /v1/mrr-movements`: MRR movements as they were recorded, in pages. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { announcedLatest } from "../../schemas/fact-bounds.js";
import { movementKinds } from "../movement-series/schema.js";
import {
  type RecordedMovementsAnswer,
  type RecordedMovementsQuery,
  recordedMovementsQueryParameters,
} from "./schema.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { cellOf } from "../reading/metric-filters.js";
import type { Cursors } from "../reading/cursors.js";
import { formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { openWalk } from "../reading/pages.js";
import { presentRecordedMovement } from "./presenter.js";
import {
  countRecordedMovements,
  readAllRecordedMovements,
  readRecordedMovements,
} from "./pages.js";
import { checkRange, clocksOf, completeText } from "../reading/reading.js";

export function recordedMovementsRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  router.get("/v1/mrr-movements", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const query = readQuery(ctx, recordedMovementsQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    const clocks = await clocksOf(service, access);
    const isFirst = query.cursor === undefined;
    const { asOf, ...walk } = openWalk({
      endpoint: "mrr-movements",
      access,
      query: { ...query, at: query.at ?? (isFirst ? announcedLatest : undefined) },
      filters: filtersOf(query),
      // What is announced is recorded already.
      clocks: { ...clocks, now: announcedLatest },
      cursors,
      filtersSchema,
      positionSchema,
    });
    const { clickhouse } = service;
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const { kind, account, from, to, ...cell } = walk.filters;
    const wanted = { kind, account, from, to, cell: cellOf(cell, catalogue) };
    const present = (row: RecordedMovementRow) =>
      presentRecordedMovement(row, catalogue, access.baseCurrency);
    if (format !== null) {
      return exports.send(ctx, format, {
        ...tables.recordedMovements,
        asOf,
        clocks,
        count: () => countRecordedMovements(clickhouse, asOf, wanted),
        async *pages() {
          for await (const rows of readAllRecordedMovements(clickhouse, asOf, wanted)) {
            yield rows.map(present);
          }
        },
      });
    }
    const page = await readRecordedMovements(clickhouse, asOf, wanted, walk.after, walk.limit);
    ctx.body = {
      status: "success",
      data: page.rows.map(present),
      pagination: walk.pagination(page.last),
      complete_to: completeText(clocks),
    } satisfies RecordedMovementsAnswer;
  });
}

function filtersOf(query: RecordedMovementsQuery): Filters {
  const { kind, account, from, to, provider, product, currency, country } = query;
  checkRange(query);
  return { kind, account, from, to, provider, product, currency, country };
}

/** As the cursor holds them; moments in ms since 1970. */
const filtersSchema = z.object({
  kind: z.enum(movementKinds).optional(),
  account: z.string().optional(),
  from: z.number().int().optional(),
  to: z.number().int().optional(),
  provider: z.enum(providerTokens).optional(),
  product: z.string().optional(),
  currency: z.string().optional(),
  country: z.string().optional(),
});
type Filters = z.output<typeof filtersSchema>;

const positionSchema = z.object({
  at: z.number().int(),
  rows: z.number().int(),
});
