/** `GET /v1/mrr-movements`: MRR movements as they were recorded, in pages. */
import { announcedLatest } from "../../schemas/fact-bounds.js";
import type { RecordedMovementRow } from "../../schemas/movements.js";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import type { Moments } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { keyPosition } from "../reading/pages.js";
import { type ReadApi, listRoute } from "../reading/routes.js";
import { readRecordedMovements, readRecordedTotals } from "./pages.js";
import { presentRecordedMovement, presentRecordedTotals } from "./presenter.js";
import { recordedMovementsQueryParameters } from "./schema.js";

export function recordedMovementsRoute(api: ReadApi): void {
  const { clickhouse } = api.service;
  const options = {
    path: "/v1/mrr-movements",
    parameters: recordedMovementsQueryParameters,
    position: keyPosition,
    table: tables.recordedMovements,
    accountOf: (row: ExportRow) => row["account"],
    // Announced movements are recorded already.
    reach: announcedLatest,
    momentsOf: ({ at = announcedLatest, known_at }: Moments) => ({ at, known_at }),
  };
  listRoute(api, options, async ({ access, query, asOf, ...asked }) => {
    const catalogue = await asked.catalogue();
    const { sort = "-at" } = query;
    const currency = access.baseCurrency;
    const wanted = { ...query, cell: cellOf(await asked.narrowed(query), catalogue) };
    const totals = () => readRecordedTotals(clickhouse, asOf, wanted);
    return {
      present: (row: RecordedMovementRow) => presentRecordedMovement(row, catalogue, currency),
      async page(after, limit) {
        const page = readRecordedMovements(clickhouse, asOf, wanted, sort, after, limit);
        if (asked.format !== null) return page;
        const [rows, all] = await Promise.all([page, totals()]);
        return { ...rows, more: { totals: presentRecordedTotals(all, currency) } };
      },
      count: async () => Number((await totals()).movements),
    };
  });
}
