/** `GET /v1/mrr-movements`: MRR movements as they were recorded, in pages. */
import { announcedLatest } from "../../schemas/bounds.js";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import type { Moments } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { keyPosition, readByKey } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { listRoute } from "../reading/routes.js";
import {
  type RecordedMovementTotals,
  recordedMovementTotalsQuery,
  recordedMovementsQuery,
} from "./query.js";
import { presentRecordedMovement, presentRecordedTotals } from "./presenter.js";
import { recordedMovementsQueryParameters, recordedMovementsAnswer } from "./schema.js";

export const recordedMovementsRoute = listRoute(
  {
    path: "/v1/mrr-movements",
    summary: "MRR movements as recorded, one by one",
    description:
      "The same rows, with the same ids, as on the topic `revenue.mrr-movements`, those included " +
      "that lie ahead and those a repair added; docs/topics.md.",
    query: recordedMovementsQueryParameters,
    answer: recordedMovementsAnswer,
    position: keyPosition,
    table: tables.recordedMovements,
    accountOf: (row: ExportRow) => row["account"],
    // Announced movements are recorded already.
    reach: announcedLatest,
    momentsOf: ({ at = announcedLatest, known_at }: Moments) => ({ at, known_at }),
  },
  async ({ service, access, query, asOf, ...asked }) => {
    const catalogue = await asked.catalogue();
    const { sort = "-at" } = query;
    const currency = access.baseCurrency;
    const wanted = { ...query, cell: cellOf(await asked.narrowed(query), catalogue) };
    const totals = async (): Promise<RecordedMovementTotals> => {
      const totalsQuery = recordedMovementTotalsQuery(asOf, wanted);
      const [row] = await rowsOf<RecordedMovementTotals>(service, totalsQuery);
      return row ?? { movements: "0", net: "0" };
    };
    const keyOf = (row: RecordedMovementRow) =>
      sort.endsWith("at") ? String(fromClickhouseTime(row.at)) : row.mrr;
    return {
      present: (row: RecordedMovementRow) => presentRecordedMovement(row, catalogue, currency),
      async page(after, limit) {
        const rowsQuery = recordedMovementsQuery(asOf, wanted, sort, after, limit + 1);
        const page = readByKey(service, rowsQuery, limit, after, keyOf);
        if (asked.format !== null) return page;
        const [rows, all] = await Promise.all([page, totals()]);
        return { ...rows, more: { totals: presentRecordedTotals(all, currency) } };
      },
      count: async () => Number((await totals()).movements),
    };
  },
);
