/** `GET /v1/manage/rates`: the newest day of each source of exchange rates. */
import type Router from "@koa/router";
import { refuseParameters } from "../../http/query.js";
import { staleDays } from "../../rates/rates.js";
import type { Service } from "../../runtime/service.js";
import type { RatesView } from "../../schemas/http/manage.js";
import { rateSources } from "../../schemas/money/rates.js";

export function ratesRoutes(router: Router, { rates }: Pick<Service, "rates">): void {
  router.get("/rates", (ctx) => {
    refuseParameters(ctx);
    const [days, ages] = [rates.newestDay(), rates.newestAgeDays()];
    const data = rateSources.map((source): RatesView => {
      const day = days[source];
      return {
        source,
        newest_day: day,
        age_days: day === null ? null : ages[source],
        stale: ages[source] > staleDays,
      };
    });
    ctx.body = { status: "success", data };
  });
}
