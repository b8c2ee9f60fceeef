/** `GET /v1/manage/rates`: the newest day of each source of exchange rates. */
import { staleDays } from "../../workspaces/rates/rates.js";
import type { Service } from "../../service.js";
import type { RatesView } from "../../schemas/http/manage.js";
import { rateSources } from "../../schemas/money/rates.js";
import type { Calls } from "./calls.js";

export function ratesRoutes({ rates }: Pick<Service, "rates">, calls: Calls<null>): void {
  calls.get("/rates", "operate", () => {
    const [days, ages] = [rates.newestDay(), rates.newestAgeDays()];
    return rateSources.map((source): RatesView => {
      const day = days[source];
      return {
        source,
        newest_day: day,
        age_days: day === null ? null : ages[source],
        stale: ages[source] > staleDays,
      };
    });
  });
}
