/** `GET /v1/metrics/mrr`. */
import { mrrRows, tables } from "../exports/tables.js";
import { figuresRoute } from "../reading/routes.js";
import { definedMrr, otherThanOurs } from "../mrr-compare/defined.js";
import { presentMrr } from "./presenter.js";
import { readMrr } from "./reading.js";
import { mrrQueryParameters, mrrAnswer } from "./schema.js";

export const mrrRoute = figuresRoute(
  {
    path: "/v1/metrics/mrr",
    summary: "Monthly recurring revenue",
    query: mrrQueryParameters,
    answer: mrrAnswer,
  },
  async (asked) => {
    const { service, access, asOf, clocks } = asked;
    const { baseCurrency: currency } = access;
    const name = otherThanOurs(asked.query.definition);
    const rows =
      name === null
        ? await readMrr(service.clickhouse, asOf)
        : await definedMrr({ service, name, currency, clocks }, asOf);
    const data = { ...presentMrr(rows, currency), ...(name === null ? {} : { definition: name }) };
    return { data, table: () => [tables.mrr, mrrRows(data)] };
  },
);
