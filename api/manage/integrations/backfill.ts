import {
  type Backfill,
  type ComparedMonth,
  canBeginAt,
  createBackfill,
  findBackfill,
} from "../../../workspaces/history/backfills.js";
import { progressOf } from "../../../workspaces/history/backfill-progress.js";
import { conflict, notFound, unprocessable } from "../../../schemas/http/errors.js";
import { limits } from "../../../config.js";
import type { Provider } from "../../../providers/provider.js";
import { knownExponentOf, toJsonNumber } from "../../../schemas/money/money.js";
import {
  type BackfillView,
  backfill as backfillShape,
  coverage,
  newBackfill,
} from "../../../schemas/http/manage.js";
import { utcDay } from "../../../schemas/money/rates.js";
import { ofWorkspace } from "../calls.js";
import { integrationOf } from "./routes.js";

const path = "/integrations/{integration}/backfill";

/** The role `processors` reads. */
export const backfillRoutes = [
  ofWorkspace.post(path, "Read the provider's history", {
    right: "manage",
    action: "backfill.started",
    body: newBackfill,
    answer: backfillShape,
    status: 202,
    errors: [409],
    find: integrationOf,
    async run({ postgres, providers, of, found: { id: integration, provider }, body }) {
      const { from, ids } = body;
      const { backfill } = providers.get(provider) ?? {};
      const [list] = backfill?.lists ?? [];
      if (backfill === undefined || list === undefined) {
        throw unprocessable("backfill_unsupported", `The history of ${provider} cannot be read.`);
      }
      if (ids !== undefined && backfill.byIds === undefined) {
        throw unprocessable("ids_unsupported", `${provider} lists its history by itself.`, "ids");
      }
      const now = new Date();
      const given = {
        workspace: of.id,
        integration,
        from: dateOf(from, now),
        list: list.name,
        ...(backfill.byIds && { ids: ids ?? [], listedMs: backfill.byIds.listedMs }),
      };
      const made = await createBackfill(postgres, given, now);
      if (made === null) {
        throw conflict("backfill_running", "A backfill of this integration is running.");
      }
      return backfillView(made, providers.get(provider));
    },
  }),
  ofWorkspace.get(path, "Progress of the newest backfill", {
    right: "look",
    answer: backfillShape,
    find: integrationOf,
    async run({ postgres, providers, found: { id, provider } }) {
      const found = await findBackfill(postgres, id);
      if (found === null) {
        throw notFound("backfill_unknown", "No backfill of this integration was asked for.");
      }
      return backfillView(found, providers.get(provider));
    },
  }),
];

export const coverageRoutes = [
  ofWorkspace.get("/integrations/{integration}/coverage", "How the money of each month is known", {
    right: "look",
    answer: coverage,
    find: integrationOf,
    run: ({ coverageOf, of, found }) => coverageOf(of.id, found, Date.now()),
  }),
];

/** @throws ApiError 422 */
export function dateOf(text: string, now: Date): Date {
  const from = new Date(text);
  if (canBeginAt(from, now)) return from;
  const first = utcDay(limits.eventEarliest);
  throw unprocessable("from_out_of_range", `from must lie between ${first} and now.`, "from");
}

/** @param of whose history it is; absent where it can no longer be read */
export function backfillView(
  row: Backfill,
  of: Pick<Provider, "backfill" | "historyExport"> | undefined,
): BackfillView {
  const { id, state, list, counts, comparison, problem } = row;
  return {
    id,
    from: row.from.toISOString(),
    to: (row.coversTo ?? row.createdAt).toISOString(),
    state,
    list,
    counts,
    progress: progressOf(row),
    comparison: comparison === null ? null : comparison.map(monthView),
    problem,
    missing: [...missingOf(of, row.source)],
    updated_at: row.updatedAt.toISOString(),
  };
}

function missingOf(
  of: Parameters<typeof backfillView>[1],
  source: Backfill["source"],
): readonly string[] {
  return (source === "export" ? of?.historyExport : of?.backfill)?.missing ?? [];
}

function monthView({ month, currency, listed, booked }: ComparedMonth) {
  const exponent = knownExponentOf(currency);
  const sums = ({ count, amount, refunded }: ComparedMonth["listed"]) => ({
    count,
    amount: toJsonNumber(BigInt(amount), exponent),
    refunded: toJsonNumber(BigInt(refunded), exponent),
  });
  const same = JSON.stringify(listed) === JSON.stringify(booked);
  return { month, currency, listed: sums(listed), booked: sums(booked), same };
}
