/** `GET /v1/metrics/mrr`. */
import type Router from "@koa/router";
import { accessOf } from "../../http/state.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { type MrrAnswer, mrrQueryParameters } from "./schema.js";
import { type AsOf, readAsOf } from "../reading/as-of.js";
import { growthThen } from "../reading/calendar.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { mrrRows, tables } from "../exports/tables.js";
import { isStored } from "../reading/movement-reading.js";
import { presentMrr } from "./presenter.js";
import { type MrrPartRow, type MrrRow, mrrPairQuery, mrrPairs, mrrQuery } from "./query.js";
import type { Query } from "../reading/query.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function mrrRoute(router: Router, service: Service): void {
  router.get("/v1/metrics/mrr", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, mrrQueryParameters);
    const format = formatOf(ctx, query.format);
    const asOf = readAsOf(access, query, clocks);
    const { now, previous } = await readMrr(service, asOf);
    const data = presentMrr(now, previous, access.baseCurrency);
    if (format !== null) return sendTable(ctx, format, tables.mrr, mrrRows(data), clocks);
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies MrrAnswer;
  });
}

/** @returns `previous` as of a month before */
async function readMrr({ clickhouse }: Pick<Service, "clickhouse">, asOf: AsOf) {
  const read = <Row>({ sql, params }: Query) => clickhouse.rows<Row>(sql, params);
  const past = { ...asOf, at: Math.max(0, growthThen(asOf.at)) };
  const sums = await read<MrrPartRow>(mrrPairQuery(asOf, past.at));
  if (await isStored(clickhouse, asOf)) {
    const now = mrrPairs(sums, asOf.at, past.at);
    return { now, previous: now.map(({ previous: mrr }) => ({ mrr })) };
  }
  const [corrected, previous] = await Promise.all([
    read<MrrRow>(mrrQuery(asOf)),
    read<MrrRow>(mrrQuery(past)),
  ]);
  return { now: corrected, previous };
}
