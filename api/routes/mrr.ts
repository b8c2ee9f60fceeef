/** `GET /v1/metrics/mrr`. */
import type Router from "@koa/router";
import { accessOf } from "../../backends/http/state.js";
import { requireKey } from "../../backends/http/auth.js";
import { readQuery } from "../../backends/http/query.js";
import type { Service } from "../../backends/service.js";
import { type MrrAnswer, mrrQueryParameters } from "../../schemas/http-mrr.js";
import { readAsOf } from "../as-of.js";
import { growthThen } from "../calendar.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { mrrRows, tables } from "../exports/tables.js";
import { readMovements } from "../movement-reading.js";
import { presentMrr } from "../presenters/mrr.js";
import { type MrrRow, mrrQuery } from "../queries/mrr.js";
import { clocksOf, completeText } from "./reading.js";

export function mrrRoute(router: Router, service: Service): void {
  router.get("/v1/metrics/mrr", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const format = formatOf(ctx);
    const clocks = await clocksOf(service);
    const asOf = readAsOf(access, readQuery(ctx, mrrQueryParameters), clocks);
    const [now, then] = await Promise.all([
      readMovements<MrrRow>(service.clickhouse, mrrQuery, asOf),
      readMovements<MrrRow>(service.clickhouse, mrrQuery, { ...asOf, at: growthThen(asOf.at) }),
    ]);
    const data = presentMrr(now, then, access.baseCurrency);
    if (format !== null) return sendTable(ctx, format, tables.mrr, mrrRows(data), clocks);
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies MrrAnswer;
  });
}
