/** `GET /v1/metrics/mrr/changes`: two readings of one figure, and the events that lie between. */
import type Router from "@koa/router";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { malformed, unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import { type MrrChangesAnswer, mrrChangesQueryParameters } from "./schema.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { type Clocks, checkKnownAt } from "../reading/as-of.js";
import type { Cursors } from "../reading/cursors.js";
import { formatOf, refusePages } from "../exports/formats.js";
import type { Exports } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { readAllMrrChanges, readMrrChanges } from "./pages.js";
import { type PinnedAsOf, openWalk } from "../reading/pages.js";
import { type Reading, presentMrrChange, presentReadings } from "./presenter.js";
import { readMrr } from "../mrr/reading.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function mrrChangesRoute(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
  exports: Exports,
): void {
  const path = "/v1/metrics/mrr/changes";
  router.get(path, requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, mrrChangesQueryParameters);
    const format = formatOf(ctx, query.format);
    if (format !== null) refusePages(query);
    const { from_known_at, to_known_at, provider, limit, cursor } = query;
    const isFirst = cursor === undefined;
    if (isFirst) checkReadings({ from_known_at, to_known_at }, clocks);
    const walk = openWalk({
      endpoint: "mrr/changes",
      access,
      query: {
        limit,
        cursor,
        // The figure the first reading reported when nothing else was asked for.
        at: query.at ?? (isFirst ? from_known_at : undefined),
        known_at: to_known_at,
      },
      filters: { from_known_at, provider },
      clocks,
      cursors,
      filtersSchema,
      positionSchema,
    });
    const { asOf, filters } = walk;
    const from = filters.from_known_at ?? asOf.knownAt;
    if (format !== null) {
      const { clickhouse } = service;
      const catalogue = await catalogues.of(access.workspace, access.environment);
      return exports.send(ctx, format, {
        ...tables.changes,
        asOf,
        clocks,
        count: async () => null,
        async *pages() {
          const { exportPageRows: rowsMax } = limits;
          const pages = readAllMrrChanges(clickhouse, asOf, from, filters.provider, rowsMax);
          for await (const rows of pages) {
            yield rows.map((row) => presentMrrChange(row, catalogue, access.baseCurrency));
          }
        },
      });
    }
    const [before, after, page, catalogue] = await Promise.all([
      read(service, { ...asOf, knownAt: from }, filters.provider),
      read(service, asOf, filters.provider),
      readMrrChanges(service.clickhouse, asOf, from, filters.provider, walk.after, walk.limit),
      catalogues.of(access.workspace, access.environment),
    ]);
    ctx.body = {
      status: "success",
      data: page.rows.map((row) => presentMrrChange(row, catalogue, access.baseCurrency)),
      readings: presentReadings(asOf.at, before, after, access.baseCurrency),
      pagination: walk.pagination(page.last),
      complete_to: completeText(clocks),
    } satisfies MrrChangesAnswer;
  });
}

function checkReadings(
  given: Readonly<Record<"from_known_at" | "to_known_at", number | undefined>>,
  clocks: Clocks,
): void {
  for (const [name, moment] of Object.entries(given)) {
    if (moment !== undefined) checkKnownAt(moment, clocks, name);
  }
  const { from_known_at: from, to_known_at: to = clocks.completeTo } = given;
  if (from === undefined) {
    throw malformed("parameter_missing", "from_known_at is needed.", "from_known_at");
  }
  if (from > to) {
    throw unprocessable(
      "readings_reversed",
      "from_known_at is after to_known_at.",
      "from_known_at",
    );
  }
}

async function read(
  service: Pick<Service, "clickhouse">,
  asOf: PinnedAsOf,
  provider: string | undefined,
): Promise<Reading> {
  const rows = await readMrr(service.clickhouse, asOf);
  return {
    knownAt: asOf.knownAt,
    rows: rows.filter((row) => [undefined, row.provider].includes(provider)),
  };
}

const filtersSchema = z.object({
  from_known_at: z.number().int().optional(),
  provider: z.enum(providerTokens).optional(),
});

const positionSchema = z.object({
  recorded_at_ms: z.string().regex(/^\d+$/),
  event_id: z.string(),
  account: z.string(),
  rows: z.number().int(),
});
