/** `GET /v1/metrics/mrr/changes`: two readings of one figure, and the events that lie between. */
import { malformed, unprocessable } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import { type Clocks, type Moments, checkKnownAt } from "../reading/as-of.js";
import { type CellQuery, cellOf } from "../reading/metric-filters.js";
import { type PinnedAsOf, keyPosition, readByKey } from "../reading/pages.js";
import { rowsOf } from "../reading/reading.js";
import { listRoute } from "../reading/routes.js";
import { readMrr } from "../mrr/query.js";
import {
  type MrrChangeRow,
  type MrrChangesWanted,
  changeKey,
  mrrChangesCountQuery,
  mrrChangesQuery,
  mrrOfAccountsQuery,
} from "./query.js";
import { type Reading, presentMrrChange, presentReadings } from "./presenter.js";
import { type MrrChangesQuery, mrrChangesQueryParameters, mrrChangesAnswer } from "./schema.js";

export const mrrChangesRoute = listRoute(
  {
    path: "/v1/metrics/mrr/changes",
    summary: "Why MRR was read differently at two moments",
    description:
      "Two readings of the same figure, and the movements between them under the raw events that " +
      "were recorded meanwhile; docs/explaining.md.",
    query: mrrChangesQueryParameters,
    answer: mrrChangesAnswer,
    position: keyPosition,
    table: tables.changes,
    accountOf: (row: ExportRow) => row["account"],
    momentsOf,
  },
  async ({ service, access, query, format, asOf, ...asked }) => {
    const { from_known_at: from = asOf.knownAt, sort = "-at" } = query;
    const part = await asked.narrowed(query);
    const { baseCurrency } = access;
    const catalogue = await asked.catalogue();
    const cell = cellOf(part, catalogue);
    // Of both readings the same accounts, so that the changes between them add up.
    const params = { ...cell.params, accounts_known_at: asOf.knownAt };
    const wanted = { from, cell: { ...cell, params } };
    return {
      present: (row: MrrChangeRow) => presentMrrChange(row, catalogue, baseCurrency),
      async page(after, limit) {
        const changesQuery = mrrChangesQuery(asOf, wanted, sort, after, limit + 1);
        const keyOf = (row: MrrChangeRow) => changeKey(row, sort);
        const page = readByKey(service, changesQuery, limit, after, keyOf);
        if (format !== null) return page;
        const [before, now, changes, [count]] = await Promise.all([
          read(service, { ...asOf, knownAt: from }, part, wanted),
          read(service, asOf, part, wanted),
          page,
          rowsOf<{ readonly changes: string }>(service, mrrChangesCountQuery(asOf, wanted)),
        ]);
        const readings = presentReadings(asOf.at, before, now, baseCurrency);
        const totals = { changes: Number(count?.changes ?? 0), ...readings.difference };
        return { ...changes, more: { readings, totals } };
      },
    };
  },
);

/** Default: the figure of the first reading. */
function momentsOf(query: MrrChangesQuery, clocks: Clocks): Moments {
  const { from_known_at: from, to_known_at: to } = query;
  for (const [name, moment] of Object.entries({ from_known_at: from, to_known_at: to })) {
    if (moment !== undefined) checkKnownAt(moment, clocks, name);
  }
  if (from === undefined) {
    throw malformed("parameter_missing", "from_known_at is needed.", "from_known_at");
  }
  if (from > (to ?? clocks.completeTo)) {
    const message = "from_known_at is after to_known_at.";
    throw unprocessable("readings_reversed", message, "from_known_at");
  }
  return { at: query.at ?? from, known_at: to };
}

async function read(
  service: Pick<Service, "clickhouse">,
  asOf: PinnedAsOf,
  { provider, accounts }: CellQuery,
  { cell }: MrrChangesWanted,
): Promise<Reading> {
  if (accounts !== undefined) {
    return { knownAt: asOf.knownAt, rows: await rowsOf(service, mrrOfAccountsQuery(asOf, cell)) };
  }
  const rows = await readMrr(service.clickhouse, asOf);
  return {
    knownAt: asOf.knownAt,
    rows: rows.filter((row) => provider?.includes(row.provider) ?? true),
  };
}
