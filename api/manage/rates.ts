/** `GET /v1/manage/rates`: the newest day of each source of exchange rates. */
import { z } from "zod";
import { staleDays } from "../../workspaces/rates/rates.js";
import { type RatesView, ratesOfSource } from "../../schemas/http/manage.js";
import { rateSources } from "../../schemas/money/rates.js";
import { ofInstallation } from "./calls.js";

export const ratesRoutes = [
  ofInstallation.get("/rates", "How old the newest exchange rates are", {
    right: "operate",
    answer: z.array(ratesOfSource),
    run({ rates }) {
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
    },
  }),
];
