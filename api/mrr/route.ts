/** `GET /v1/metrics/mrr`. */
import type Router from "@koa/router";
import { accessOf } from "../../http/state.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { type MrrAnswer, mrrQueryParameters } from "./schema.js";
import { readAsOf } from "../reading/as-of.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { mrrRows, tables } from "../exports/tables.js";
import { presentMrr } from "./presenter.js";
import { readMrr } from "./reading.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function mrrRoute(router: Router, service: Service): void {
  router.get("/v1/metrics/mrr", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, mrrQueryParameters);
    const format = formatOf(ctx, query.format);
    const asOf = readAsOf(access, query, clocks);
    const rows = await readMrr(service.clickhouse, asOf);
    const data = presentMrr(rows, access.baseCurrency);
    if (format !== null) return sendTable(ctx, format, tables.mrr, mrrRows(data), clocks);
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies MrrAnswer;
  });
}
