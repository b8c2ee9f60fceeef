/** `GET /v1/metrics/summary`: MRR and the ratios made of it. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { type SummaryAnswer, summaryDays, summaryQueryParameters } from "./schema.js";
import { readAsOf } from "../reading/as-of.js";
import { dayMs } from "../reading/calendar.js";
import { cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { readMovements } from "../reading/movement-reading.js";
import { presentSummary } from "./presenter.js";
import { type MovementKindRow, movementKindsQuery } from "./movement-kinds.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function summaryRoute(router: Router, service: Service, catalogues: CatalogueView): void {
  router.get("/v1/metrics/summary", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, summaryQueryParameters);
    const format = formatOf(ctx, query.format);
    const now = readAsOf(access, query, clocks);
    const since = Math.max(0, now.at - summaryDays * dayMs);
    const cell = cellOf(query, await catalogues.of(access.workspace, access.environment));
    const rows = await readMovements<MovementKindRow>(
      service.clickhouse,
      (reading) => movementKindsQuery(reading, since, cell),
      now,
    );
    const of = (wanted: MovementKindRow["moment"]) =>
      rows.filter(({ moment }) => moment === wanted);
    const figures = presentSummary(of("now"), of("then"), access.baseCurrency);
    const data = {
      currency: access.baseCurrency,
      since: new Date(since).toISOString(),
      until: new Date(now.at).toISOString(),
      ...figures,
    };
    if (format !== null) return sendTable(ctx, format, tables.summary, [data], clocks);
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies SummaryAnswer;
  });
}
