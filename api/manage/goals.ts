/** Goals: what MRR or revenue is meant to be in a month, shown on its chart to everybody. */
import type { Context } from "koa";
import { limits } from "../../config.js";
import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { durably, insertIfNew } from "../../stores/postgres/rows.js";
import type { Service } from "../../service.js";
import { changedGoal, newGoal } from "../../schemas/http/members.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { majorToMinor, toJsonNumber } from "../../schemas/money/money.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";
import { requireRoom } from "./room.js";

interface Goal {
  readonly id: string;
  readonly figure: string;
  /** YYYY-MM */
  readonly month: string;
  /** Minor units of the base currency, as text. */
  readonly amount: string;
  readonly currency: string;
  readonly created_at: Date;
}

const select = `SELECT id, figure, month, amount::text AS amount, created_at,
  (SELECT base_currency FROM workspaces WHERE workspaces.id = workspace) AS currency FROM goals`;

export function goalRoutes({ postgres }: Service, calls: Calls<Workspace>): void {
  const path = "/goals";
  const right = "manage";

  calls.list(
    path,
    "look",
    ({ id }, page) => newestFirst<Goal>(postgres, page, `${select} WHERE workspace = $4`, [id]),
    shown,
  );

  const created = { right, action: "goal.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, { id: workspace, base_currency: currency }) => {
    const { figure, month, amount } = readJson(ctx, newGoal);
    const id = `goa_${randomBase62(20)}`;
    const at = new Date();
    const row = { id, workspace, figure, month, amount: minor(amount, currency), created_at: at };
    const isNew = await postgres.transaction(async (sql) => {
      await requireRoom(sql, "goals", workspace, limits.goalsMax);
      return insertIfNew(sql, "goals", row);
    });
    if (!isNew) throw conflict("goal_exists", "This month has a goal already: change that one.");
    return shown({ ...row, currency });
  });

  const one = `${path}/:goal`;
  calls.write("PATCH", one, { right, action: "goal.changed" }, async (ctx, workspace) => {
    const found = await goalOf(ctx, workspace);
    const amount = minor(readJson(ctx, changedGoal).amount, found.currency);
    await durably(postgres, "UPDATE goals SET amount = $2 WHERE id = $1", [found.id, amount]);
    return shown({ ...found, amount });
  });

  calls.write("DELETE", one, { right, action: "goal.deleted" }, async (ctx, workspace) => {
    const found = await goalOf(ctx, workspace);
    await durably(postgres, "DELETE FROM goals WHERE id = $1", [found.id]);
    return shown(found);
  });

  /** @throws ApiError 404 */
  async function goalOf(ctx: Context, { id }: Workspace): Promise<Goal> {
    const values = [id, String(ctx.params.goal)];
    const query = `${select} WHERE workspace = $1 AND id = $2`;
    const [found] = await postgres.query<Goal>(query, values);
    if (found === undefined) throw notFound("goal_unknown", "There is no such goal.");
    return found;
  }
}

/** @throws ApiError 422 */
function minor(amount: number, currency: string): string {
  const found = majorToMinor(String(amount), knownExponentOf(currency));
  if (found === null || found > limits.amountMinorMax) {
    const message = `amount must be an amount of ${currency}, with no more decimals than it has.`;
    throw unprocessable("amount_invalid", message, "amount");
  }
  return found.toString();
}

function shown({ id, figure, month, amount, currency, created_at }: Goal) {
  const shownAmount = toJsonNumber(BigInt(amount), knownExponentOf(currency));
  return { id, figure, month, amount: shownAmount, currency, created_at };
}
