/** Goals: what MRR or revenue is meant to be in a month, shown on its chart to everybody. */
import { limits } from "../../config.js";
import { conflict, unprocessable } from "../../schemas/http/errors.js";
import { durably, insertIfNew } from "../../stores/postgres/rows.js";
import { changedGoal, goal, newGoal } from "../../schemas/http/members.js";
import { knownExponentOf, majorToMinor, toJsonNumber } from "../../schemas/money/money.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import { named, ofWorkspace } from "./calls.js";
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

const path = "/goals";
const one = `${path}/{goal}`;

const goalOf = named("goal", async ({ postgres, of }, id) => {
  const query = `${select} WHERE workspace = $1 AND id = $2`;
  return (await postgres.query<Goal>(query, [of.id, id]))[0];
});

export const goalRoutes = [
  ofWorkspace.post(path, "Set what MRR or revenue is meant to be in a month", {
    right: "manage",
    action: "goal.created",
    body: newGoal,
    answer: goal,
    errors: [409],
    async run({ postgres, of: { id: workspaceId, base_currency: currency }, body }) {
      const { figure, month } = body;
      const amount = minor(body.amount, currency);
      const id = `goa_${randomBase62(20)}`;
      const row = { id, workspace: workspaceId, figure, month, amount, created_at: new Date() };
      const isNew = await postgres.transaction(async (sql) => {
        await requireRoom(sql, "goals", workspaceId, limits.goalsMax);
        return insertIfNew(sql, "goals", row);
      });
      if (!isNew) throw conflict("goal_exists", "This month has a goal already: change that one.");
      return shown({ ...row, currency });
    },
  }),
  ofWorkspace.list(path, "Goals", {
    right: "look",
    row: goal,
    read: ({ postgres, of }, page) =>
      newestFirst<Goal>(postgres, page, `${select} WHERE workspace = $4`, [of.id]),
    view: shown,
  }),
  ofWorkspace.patch(one, "Change a goal", {
    right: "manage",
    action: "goal.changed",
    body: changedGoal,
    answer: goal,
    find: goalOf,
    async run({ postgres, found, body }) {
      const amount = minor(body.amount, found.currency);
      await durably(postgres, "UPDATE goals SET amount = $2 WHERE id = $1", [found.id, amount]);
      return shown({ ...found, amount });
    },
  }),
  ofWorkspace.delete(one, "Delete a goal", {
    right: "manage",
    action: "goal.deleted",
    answer: goal,
    find: goalOf,
    async run({ postgres, found }) {
      await durably(postgres, "DELETE FROM goals WHERE id = $1", [found.id]);
      return shown(found);
    },
  }),
];

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
