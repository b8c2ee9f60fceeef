import type Router from "@koa/router";
import {
  type Backfill,
  type ComparedMonth,
  canBeginAt,
  createBackfill,
  findBackfill,
} from "../../workspaces/backfills.js";
import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../http/errors.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import type { Provider } from "../../providers/provider.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { type BackfillView, newBackfill } from "../../schemas/http/manage.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import { integrationOf } from "./integrations.js";

const path = "/workspaces/:workspace/integrations/:integration/backfill";

/** The role `processors` reads; here it is asked for and shown. */
export function backfillRoutes(
  router: Router,
  service: Service,
  providers: ReadonlyMap<string, Provider>,
): void {
  router.post(path, async (ctx) => {
    const { id: integration, provider } = await integrationOf(ctx, service);
    const { from } = readJson(ctx, newBackfill);
    const [list] = providers.get(provider)?.backfill?.lists ?? [];
    if (list === undefined) {
      throw unprocessable("backfill_unsupported", `The history of ${provider} cannot be read.`);
    }
    const now = new Date();
    const given = {
      workspace: String(ctx.params.workspace),
      integration,
      from: dateOf(from, now),
      list: list.name,
    };
    const made = await createBackfill(service.postgres, given, now);
    if (made === null) {
      throw conflict("backfill_running", "A backfill of this integration is running.");
    }
    ctx.status = 202;
    ctx.body = { status: "success", data: backfillView(made) };
  });

  router.get(path, async (ctx) => {
    refuseParameters(ctx);
    const { id } = await integrationOf(ctx, service);
    const found = await findBackfill(service.postgres, id);
    if (found === null) {
      throw notFound("backfill_unknown", "No backfill of this integration was asked for.");
    }
    ctx.body = { status: "success", data: backfillView(found) };
  });
}

/** @throws ApiError 422 */
function dateOf(text: string, now: Date): Date {
  const from = new Date(text);
  if (canBeginAt(from, now)) return from;
  const first = utcDay(limits.eventEarliest);
  throw unprocessable("from_out_of_range", `from must lie between ${first} and now.`, "from");
}

function backfillView(row: Backfill): BackfillView {
  const { id, state, list, counts, comparison, problem } = row;
  return {
    id,
    from: row.from.toISOString(),
    to: row.createdAt.toISOString(),
    state,
    list,
    counts,
    comparison: comparison === null ? null : comparison.map(monthView),
    problem,
    updated_at: row.updatedAt.toISOString(),
  };
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
